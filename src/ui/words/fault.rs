//! What went wrong outside the form: faults of the worker, of data and of links.

use crate::{
    data::DataError,
    protocol::Fault,
    setup::codec::LinkError,
    ui::{
        format,
        text::{Locale, td_string},
    },
};

/// A fault in the reader's language, with what to do about it.
pub fn fault(locale: Locale, fault: &Fault) -> String {
    match fault {
        Fault::NoWebGpu { reason } => td_string!(locale, fault.no_webgpu, reason = brief(reason)).to_string(),
        Fault::DeviceComputesWrongly {
            gradient_error,
            loss_error,
            tolerance,
        } => td_string!(
            locale,
            fault.wrong_device,
            gradient = format::error(*gradient_error),
            loss = format::error(*loss_error),
            tolerance = format::error(*tolerance)
        )
        .to_string(),
        Fault::DeviceLost { reason } => td_string!(locale, fault.device_lost, reason = brief(reason)).to_string(),
        Fault::Data(error) => data(locale, error),
        Fault::NothingApplies { groups } => {
            td_string!(locale, fault.nothing_applies, groups = format::count(*groups)).to_string()
        }
        Fault::MemoryNotMeasured => td_string!(locale, fault.memory_not_measured).to_owned(),
        Fault::GrowsForEver => td_string!(locale, fault.grows_for_ever).to_owned(),
        Fault::Stopped => td_string!(locale, fault.stopped).to_owned(),
        Fault::MemoryLimit { in_use, limit, group } => {
            let (in_use, limit) = (format::bytes(locale, *in_use), format::bytes(locale, *limit));
            td_string!(
                locale,
                fault.memory_limit,
                in_use,
                limit,
                group = format::count(group + 1)
            )
            .to_string()
        }
        Fault::BatchNormNeedsTwo => td_string!(locale, fault.batch_norm_needs_two).to_owned(),
        Fault::InsideGroup => td_string!(locale, fault.inside_group).to_owned(),
        Fault::NoSuchRun => td_string!(locale, fault.no_such_run).to_owned(),
        Fault::VersionMismatch { page, worker } => {
            td_string!(locale, fault.version, page = *page, worker = *worker).to_string()
        }
        Fault::Panicked { message } => td_string!(locale, fault.panicked, message = brief(message)).to_string(),
        Fault::Unreachable { message } => td_string!(locale, fault.unreachable, message = brief(message)).to_string(),
    }
}

/// Last words can be long: the browser's own, with addresses and stacks. The beginning tells a person enough.
fn brief(text: &str) -> String {
    const MOST: usize = 240;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MOST {
        return line.trim_end_matches('.').to_owned();
    }
    let start: String = line.chars().take(MOST).collect();
    format!("{start}…")
}

/// Why data cannot be used, with what to do about it.
pub fn data(locale: Locale, error: &DataError) -> String {
    let count = format::count;
    match error {
        DataError::Empty => td_string!(locale, data_error.empty).to_owned(),
        DataError::TooLarge { bytes, max } => {
            let (bytes, max) = (format::bytes(locale, *bytes), format::bytes(locale, *max));
            td_string!(locale, data_error.too_large, bytes, max).to_string()
        }
        DataError::NotUtf8 { at } => td_string!(locale, data_error.not_utf8, at = count(*at)).to_string(),
        DataError::BadJson { line, column } => td_string!(
            locale,
            data_error.bad_json,
            line = count(*line),
            column = count(*column)
        )
        .to_string(),
        DataError::MissingField { line, field } => td_string!(
            locale,
            data_error.missing_field,
            line = count(*line),
            field = field.clone()
        )
        .to_string(),
        DataError::FileNeeded { name } if name.is_empty() => td_string!(locale, data_error.file_unnamed).to_owned(),
        DataError::FileNeeded { name } => td_string!(locale, data_error.file_needed, name = name.clone()).to_string(),
        DataError::TooLong { example, length, max } => td_string!(
            locale,
            data_error.too_long,
            example = *example,
            length = count(*length),
            max = *max
        )
        .to_string(),
        DataError::NothingSupervised => td_string!(locale, data_error.nothing_supervised).to_owned(),
        DataError::VocabularyTooLarge { distinct, max } => {
            let (distinct, max) = (count(*distinct), count(*max));
            td_string!(locale, data_error.vocabulary_too_large, distinct, max).to_string()
        }
        DataError::StartLetterUnknown { letter } => {
            td_string!(locale, data_error.start_letter_unknown, letter = letter.to_string()).to_string()
        }
        DataError::NoFullGroup { examples, needed } => {
            let (examples, needed) = (count(*examples), count(*needed));
            td_string!(locale, data_error.no_full_group, examples, needed).to_string()
        }
        DataError::TooManyPositions { positions, max } => {
            let (positions, max) = (count(*positions), count(*max));
            td_string!(locale, data_error.too_many_positions, positions, max).to_string()
        }
        DataError::TooManyTokens { tokens, max } => {
            let (tokens, max) = (count(*tokens), count(*max));
            td_string!(locale, data_error.too_many_tokens, tokens, max).to_string()
        }
        DataError::TooManyExamples { examples, max } => {
            let (examples, max) = (count(*examples), count(*max));
            td_string!(locale, data_error.too_many_examples, examples, max).to_string()
        }
        DataError::BadLength { line, given } => td_string!(
            locale,
            data_error.bad_length,
            line = count(*line),
            given = given.clone()
        )
        .to_string(),
        DataError::TooManyLengths { count: given, max } => td_string!(
            locale,
            data_error.too_many_lengths,
            count = count(*given),
            max = count(*max)
        )
        .to_string(),
    }
}

/// Why a link was not used.
pub fn link(locale: Locale, error: &LinkError) -> String {
    let reason = match error {
        LinkError::Foreign => td_string!(locale, link_error.foreign).to_owned(),
        LinkError::WrongVersion { given } => {
            td_string!(locale, link_error.wrong_version, given = given.clone()).to_string()
        }
        LinkError::BadEscape { at } => td_string!(locale, link_error.bad_escape, at = *at).to_string(),
        LinkError::NotUtf8 { key } => td_string!(locale, link_error.not_utf8, key = key.clone()).to_string(),
        LinkError::UnknownKey { key } => td_string!(locale, link_error.unknown_key, key = key.clone()).to_string(),
        LinkError::Repeated { key } => td_string!(locale, link_error.repeated, key = key.clone()).to_string(),
        LinkError::TooLong { bytes, max } => {
            let size = |n: usize| format::bytes(locale, u64::try_from(n).unwrap_or(u64::MAX));
            td_string!(locale, link_error.too_long, bytes = size(*bytes), max = size(*max)).to_string()
        }
    };
    td_string!(locale, fault.bad_link, reason).to_string()
}
