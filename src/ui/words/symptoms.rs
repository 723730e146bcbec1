//! What a person notices.

use crate::{
    batch::Symptom,
    ui::text::{Locale, td_string},
};

/// A symptom, in a sentence.
pub fn symptom(locale: Locale, symptom: Symptom) -> &'static str {
    match symptom {
        Symptom::Nothing => td_string!(locale, symptoms.nothing),
        Symptom::GradientTooSmall => td_string!(locale, symptoms.gradient_too_small),
        Symptom::GradientTooLarge => td_string!(locale, symptoms.gradient_too_large),
        Symptom::DependsOnSplit => td_string!(locale, symptoms.depends_on_split),
        Symptom::AccumulationWithoutEffect => td_string!(locale, symptoms.accumulation_without_effect),
        Symptom::MemoryGrows => td_string!(locale, symptoms.memory_grows),
        Symptom::ScheduleShifted => td_string!(locale, symptoms.schedule_shifted),
        Symptom::ReplicasPart => td_string!(locale, symptoms.replicas_part),
        Symptom::NotANumber => td_string!(locale, symptoms.not_a_number),
        Symptom::LogDiffers => td_string!(locale, symptoms.log_differs),
        Symptom::ClippedWrongly => td_string!(locale, symptoms.clipped_wrongly),
        Symptom::MoreCommunication => td_string!(locale, symptoms.more_communication),
        Symptom::Refused => td_string!(locale, symptoms.refused),
        Symptom::ExamplesLost => td_string!(locale, symptoms.examples_lost),
        Symptom::GradientsLinger => td_string!(locale, symptoms.gradients_linger),
        Symptom::ParametersMove => td_string!(locale, symptoms.parameters_move),
    }
}
