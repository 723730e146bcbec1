//! The names of units, lanes, outcomes and presets.

use crate::{
    batch::{ConventionId, LaneRule, NoWeight, Unit, scaler::ScalerError},
    protocol::Outcome,
    setup::PresetKind,
    ui::{
        text::{Locale, td_string},
        words::loop_faults,
    },
};

/// A unit, as the label of a count.
pub fn unit(locale: Locale, unit: Unit) -> &'static str {
    match unit {
        Unit::Microbatches => td_string!(locale, units.microbatches),
        Unit::Backwards => td_string!(locale, units.backwards),
        Unit::UpdateAttempts => td_string!(locale, units.update_attempts),
        Unit::AppliedUpdates => td_string!(locale, units.applied_updates),
        Unit::Examples => td_string!(locale, units.examples),
        Unit::UniqueExamples => td_string!(locale, units.unique_examples),
        Unit::SupervisedTokens => td_string!(locale, units.supervised_tokens),
        Unit::PaddedTokens => td_string!(locale, units.padded_tokens),
        Unit::AllReduces => td_string!(locale, units.all_reduces),
        Unit::AllReducedBytes => td_string!(locale, units.all_reduced_bytes),
    }
}

/// A convention.
pub fn convention(locale: Locale, id: ConventionId) -> &'static str {
    match id {
        ConventionId::TokenWeighted => td_string!(locale, lanes.token_weighted),
        ConventionId::FullBatch => td_string!(locale, lanes.full_batch),
        ConventionId::MeanOfMeans => td_string!(locale, lanes.mean_of_means),
        ConventionId::ReplicaTokenMean => td_string!(locale, lanes.replica_token_mean),
        ConventionId::DividedTwice => td_string!(locale, lanes.divided_twice),
        ConventionId::WeightedThenDividedByA => td_string!(locale, lanes.weighted_then_divided_by_a),
        ConventionId::NeverDivided => td_string!(locale, lanes.never_divided),
        ConventionId::Sum => td_string!(locale, lanes.sum),
        ConventionId::ReplicasForgotten => td_string!(locale, lanes.replicas_forgotten),
        ConventionId::ReplicasAndAccumulationForgotten => td_string!(locale, lanes.replicas_and_accumulation_forgotten),
        ConventionId::PaddingCounted => td_string!(locale, lanes.padding_counted),
        ConventionId::NominalAccumulation => td_string!(locale, lanes.nominal_accumulation),
        ConventionId::ExampleMean => td_string!(locale, lanes.example_mean),
        ConventionId::ZeroGradEachMicrobatch => td_string!(locale, lanes.zero_grad_each_microbatch),
        ConventionId::IgnoredCounted => td_string!(locale, lanes.ignored_counted),
        ConventionId::TwoDenominators => td_string!(locale, lanes.two_denominators),
    }
}

/// A lane: its convention, and what is wrong with its loop.
pub fn lane(locale: Locale, rule: LaneRule) -> String {
    let faults = rule.faults.rows().map(|row| loop_faults::name(locale, row.id));
    std::iter::once(convention(locale, rule.convention))
        .chain(faults)
        .collect::<Vec<_>>()
        .join(" + ")
}

/// How a group ended, where it changed nothing.
pub fn outcome(locale: Locale, outcome: Outcome) -> Option<&'static str> {
    Some(match outcome {
        Outcome::Applied => return None,
        Outcome::NoSupervisedToken => td_string!(locale, card.skipped_tokens),
        Outcome::NonFiniteGradient => td_string!(locale, card.skipped_finite),
        Outcome::Refused(ScalerError::AlreadyUnscaled) => td_string!(locale, card.refused_unscaled),
        Outcome::Refused(ScalerError::AlreadyStepped) => td_string!(locale, card.refused_stepped),
        Outcome::Refused(ScalerError::NotChecked) => td_string!(locale, card.refused_unchecked),
        Outcome::Dropped => td_string!(locale, card.dropped),
        Outcome::Carried => td_string!(locale, card.carried),
    })
}

/// Why a token, or a whole group, has no one weight in an update.
pub fn no_weight(locale: Locale, why: NoWeight) -> &'static str {
    match why {
        NoWeight::NoToken => td_string!(locale, no_weight.no_token),
        NoWeight::ByExample => td_string!(locale, no_weight.by_example),
        NoWeight::OwnMoves => td_string!(locale, no_weight.own_moves),
        NoWeight::Clipped => td_string!(locale, no_weight.clipped),
        NoWeight::Parted => td_string!(locale, no_weight.parted),
        NoWeight::Lingering => td_string!(locale, no_weight.lingering),
        NoWeight::Carried => td_string!(locale, no_weight.carried),
        NoWeight::NotANumber => td_string!(locale, no_weight.not_a_number),
        NoWeight::Refused => td_string!(locale, no_weight.refused),
        NoWeight::Untold => td_string!(locale, no_weight.untold),
    }
}

/// What the presets of a kind show.
pub fn preset_kind(locale: Locale, kind: PresetKind) -> &'static str {
    match kind {
        PresetKind::Counting => td_string!(locale, presets.counting),
        PresetKind::Loops => td_string!(locale, presets.loops),
    }
}

/// A preset and what it shows; an unknown one goes by its own name.
pub fn preset(locale: Locale, name: &'static str) -> (&'static str, &'static str) {
    match name {
        "sort_uneven" => (td_string!(locale, presets.sort), td_string!(locale, presets.sort_about)),
        "512_1536" => (
            td_string!(locale, presets.two_lengths),
            td_string!(locale, presets.two_lengths_about),
        ),
        "2x8x2" => (
            td_string!(locale, presets.thirty_two),
            td_string!(locale, presets.thirty_two_about),
        ),
        "uneven_replicas" => (
            td_string!(locale, presets.uneven_replicas),
            td_string!(locale, presets.uneven_replicas_about),
        ),
        "equal_lengths" => (
            td_string!(locale, presets.equal_lengths),
            td_string!(locale, presets.equal_lengths_about),
        ),
        "smallest" => (
            td_string!(locale, presets.smallest),
            td_string!(locale, presets.smallest_about),
        ),
        "zero_grad" => (
            td_string!(locale, presets.zero_grad),
            td_string!(locale, presets.zero_grad_about),
        ),
        "sync_first" => (
            td_string!(locale, presets.sync_first),
            td_string!(locale, presets.sync_first_about),
        ),
        "infinity" => (
            td_string!(locale, presets.infinity),
            td_string!(locale, presets.infinity_about),
        ),
        "clip_each" => (
            td_string!(locale, presets.clip_each),
            td_string!(locale, presets.clip_each_about),
        ),
        "scheduler" => (
            td_string!(locale, presets.scheduler),
            td_string!(locale, presets.scheduler_about),
        ),
        other => (other, ""),
    }
}
