//! A person's JSON lines with `prompt` and `completion`.

use serde::Deserialize;

use super::{
    DataError,
    collect::Collected,
    lengths,
    random::{Purpose, stream},
    written::Written,
};
use crate::setup::Setup;

#[derive(Deserialize)]
struct Row {
    prompt: Option<String>,
    completion: Option<String>,
}

/// One example a line that is not blank. Other fields are ignored. Under a rule for lengths an example keeps at most its wished
/// number of positions, counted from its start, as trainers truncate; what is cut is counted, and an example whose whole
/// completion is cut has no supervised token left.
pub(super) fn read(setup: &Setup, text: &str, longest: u32) -> Result<Collected, DataError> {
    let mut collected = Collected::new(longest);
    let mut random = stream(setup.seed, Purpose::Lengths);
    for (line, row) in (1..).zip(text.lines()).filter(|(_, row)| !row.trim().is_empty()) {
        let row: Row = serde_json::from_str(row).map_err(|error| bad_json(line, &error))?;
        let field = |text: Option<String>, field: &str| {
            let text = text.ok_or_else(|| DataError::MissingField {
                line,
                field: field.to_owned(),
            })?;
            Ok(text.chars().collect::<Vec<char>>())
        };
        let mut sequence = Written::answer(&field(row.prompt, "prompt")?, &field(row.completion, "completion")?);
        if let Some(length) = lengths::wished(&setup.lengths, collected.sequences.len(), longest, &mut random) {
            collected.cut_positions += sequence.cut(length as usize) as u64;
        }
        collected.push(sequence)?;
    }
    Ok(collected)
}

/// The reader counts lines within the one it was given; only its column means anything to a person.
fn bad_json(line: u64, error: &serde_json::Error) -> DataError {
    DataError::BadJson {
        line,
        column: error.column().max(1) as u64,
    }
}
