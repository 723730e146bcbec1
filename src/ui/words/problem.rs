//! What is wrong with a field, and what to do about it.

use crate::{
    batch::FaultId,
    setup::{Named as _, Problem, named_lanes},
    ui::{
        format,
        text::{Locale, td_string},
        words::{loop_faults, names},
    },
};

fn unknown(locale: Locale, name: &str, allowed: &[&str]) -> String {
    td_string!(
        locale,
        problem.unknown_name,
        name = name.to_owned(),
        allowed = allowed.join(", ")
    )
    .to_string()
}

/// One problem in the reader's language.
pub fn problem(locale: Locale, problem: &Problem) -> String {
    match problem {
        Problem::Empty => td_string!(locale, problem.empty).to_owned(),
        Problem::NotANumber => td_string!(locale, problem.not_a_number).to_owned(),
        Problem::NotWhole => td_string!(locale, problem.not_whole).to_owned(),
        Problem::TooSmall { min } => td_string!(locale, problem.too_small, min = format::value(*min)).to_string(),
        Problem::TooLarge { max } => td_string!(locale, problem.too_large, max = format::sum(*max)).to_string(),
        Problem::ProductTooLarge { product, max } => td_string!(
            locale,
            problem.product_too_large,
            product = format::count(*product),
            max = format::count(*max)
        )
        .to_string(),
        Problem::TooManyPositions { positions, max } => td_string!(
            locale,
            problem.too_many_positions,
            positions = format::count(*positions),
            max = format::count(*max)
        )
        .to_string(),
        Problem::FullBatchTooLarge { positions, max } => td_string!(
            locale,
            problem.full_batch_too_large,
            positions = format::count(*positions),
            max = format::count(*max)
        )
        .to_string(),
        Problem::NotOneOf { allowed } => {
            td_string!(locale, problem.not_one_of, allowed = allowed.join(", ")).to_string()
        }
        Problem::UnknownName { name, allowed } => unknown(locale, name, allowed),
        Problem::BadLength { entry } => td_string!(locale, problem.bad_length, entry = *entry).to_string(),
        Problem::LengthTooLong { entry, length, max } => td_string!(
            locale,
            problem.length_too_long,
            entry = *entry,
            length = format::count(*length),
            max = *max
        )
        .to_string(),
        Problem::TooMany { count, max } => td_string!(locale, problem.too_many, count = *count, max = *max).to_string(),
        Problem::Repeated { name } => {
            // A lane goes by its words, a letter by itself.
            let lane = named_lanes(name).first().map(|&rule| names::lane(locale, rule));
            td_string!(locale, problem.repeated, name = lane.unwrap_or_else(|| name.clone())).to_string()
        }
        Problem::DoesNotDivide { width } => td_string!(locale, problem.does_not_divide, width = *width).to_string(),
        Problem::WrongOrder => td_string!(locale, problem.wrong_order).to_owned(),
        Problem::BadStart => td_string!(locale, problem.bad_start).to_owned(),
        Problem::StartNeedsMlp => td_string!(locale, problem.start_needs_mlp).to_owned(),
        Problem::FaultsExclude { first, second } => {
            let (first, second) = (loop_fault(locale, first), loop_fault(locale, second));
            td_string!(locale, problem.faults_exclude, first, second).to_string()
        }
        Problem::FaultNeedsClip { fault } => {
            td_string!(locale, problem.fault_needs_clip, fault = loop_fault(locale, fault)).to_string()
        }
        Problem::FaultNeedsLossScale { fault } => td_string!(
            locale,
            problem.fault_needs_loss_scale,
            fault = loop_fault(locale, fault)
        )
        .to_string(),
        Problem::FaultNeedsSplit { fault } => {
            td_string!(locale, problem.fault_needs_split, fault = loop_fault(locale, fault)).to_string()
        }
        Problem::FaultNeedsPartMean { fault } => {
            td_string!(locale, problem.fault_needs_part_mean, fault = loop_fault(locale, fault)).to_string()
        }
        Problem::BadInjection => td_string!(locale, problem.bad_injection).to_owned(),
        Problem::InjectionOutside { accumulation, replicas } => td_string!(
            locale,
            problem.injection_outside,
            accumulation = *accumulation,
            replicas = *replicas
        )
        .to_string(),
        Problem::BadMomentum => td_string!(locale, problem.bad_momentum).to_owned(),
    }
}

/// A fault of a loop in the reader's language, by its stable name.
fn loop_fault(locale: Locale, name: &'static str) -> &'static str {
    FaultId::named(name).map_or(name, |id| loop_faults::name(locale, id))
}
