//! Why data cannot be used.

use serde::{Deserialize, Serialize};

use crate::setup::{
    Draft, Key, Named as _,
    kinds::{DataKind, LengthsKind, ModelKind},
};

/// A named problem with data; says what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[expect(missing_docs, reason = "each variant's message says what it is")]
pub enum DataError {
    #[error("the file is empty; choose one with some text in it")]
    Empty,
    #[error("the file has {bytes} bytes, the most is {max}; cut it first")]
    TooLarge { bytes: u64, max: u64 },
    #[error("the file is not UTF-8 (first bad byte at {at}); save it as UTF-8")]
    NotUtf8 { at: u64 },
    #[error(
        "line {line} cannot be read from column {column} on; it must be one JSON object with the texts \"prompt\" and \"completion\""
    )]
    BadJson { line: u64, column: u64 },
    #[error("line {line} lacks the text field {field:?}")]
    MissingField { line: u64, field: String },
    #[error("the setup names the file {name:?}; choose it, since a link carries no file")]
    FileNeeded { name: String },
    #[error(
        "example {example} has {length} positions, longer than the model takes ({max}); enlarge the context or shorten the data"
    )]
    TooLong { example: u32, length: u64, max: u32 },
    #[error("no example has any supervised token, so there is nothing to learn from")]
    NothingSupervised,
    #[error("there are {distinct} different characters, the most is {max}")]
    VocabularyTooLarge { distinct: u64, max: u64 },
    #[error("{letter:?} is named by start, but the data never uses it")]
    StartLetterUnknown { letter: char },
    #[error(
        "the data has {examples} examples, fewer than one full group of {needed}, and the last group is dropped, so no update would ever come; process the last group, or make m, A or D smaller"
    )]
    NoFullGroup { examples: u64, needed: u64 },
    #[error(
        "a microbatch would have {positions} positions with the longest example, the most is {max}; make m or the lengths smaller"
    )]
    TooManyPositions { positions: u64, max: u64 },
    #[error("there are {tokens} tokens, the most is {max}; make the examples fewer or shorter")]
    TooManyTokens { tokens: u64, max: u64 },
    #[error("there are {examples} examples, the most is {max}; cut the file first")]
    TooManyExamples { examples: u64, max: u64 },
    #[error("line {line} of the lengths is {given:?}, which is not a whole number of at least 1")]
    BadLength { line: u64, given: String },
    #[error("there are {count} lengths, the most is {max}")]
    TooManyLengths { count: u64, max: u64 },
}

impl DataError {
    /// The field of `draft` that is to be mended.
    pub fn field(&self, draft: &Draft) -> Key {
        let own = asks_for_a_file(draft);
        let cut = LengthsKind::named(draft.get(Key::Lengths).trim()) != Some(LengthsKind::AsInData);
        match self {
            Self::Empty
            | Self::TooLarge { .. }
            | Self::NotUtf8 { .. }
            | Self::BadJson { .. }
            | Self::MissingField { .. }
            | Self::FileNeeded { .. }
            | Self::VocabularyTooLarge { .. }
            | Self::TooManyExamples { .. } => Key::FileName,
            // A rule for lengths may have cut off all that was supervised.
            Self::NothingSupervised if cut => Key::Lengths,
            Self::TooLong { .. } if ModelKind::named(draft.get(Key::Model).trim()) == Some(ModelKind::Transformer) => {
                Key::Context
            }
            Self::NothingSupervised | Self::TooLong { .. } | Self::TooManyTokens { .. } if own => Key::FileName,
            Self::NothingSupervised | Self::TooLong { .. } => Key::Lengths,
            Self::StartLetterUnknown { .. } => Key::Start,
            Self::NoFullGroup { .. } => Key::LastGroup,
            Self::TooManyPositions { .. } => Key::Microbatch,
            Self::TooManyTokens { .. } => Key::Examples,
            Self::BadLength { .. } | Self::TooManyLengths { .. } => Key::LengthList,
        }
    }
}

/// Whether `draft` learns from a person's own file.
pub fn asks_for_a_file(draft: &Draft) -> bool {
    matches!(DataKind::named(draft.get(Key::Data).trim()), Some(DataKind::Own(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{data::build, setup::parse::parse};

    /// The field that is to be mended for `draft` to give data, and that it is one that has an effect there.
    #[track_caller]
    fn check(changes: &[(Key, &str)], own: Option<&str>, field: Key) {
        let draft = changes
            .iter()
            .fold(Draft::default(), |draft, &(key, text)| draft.with(key, text));
        let error = build(&parse(&draft).unwrap(), own).unwrap_err();
        assert_eq!(error.field(&draft), field, "{error:?}");
        assert!(crate::setup::matters::matters(&draft, field), "{error:?}");
    }

    #[test]
    fn each_refusal_names_the_field_that_mends_it() {
        let jsonl = (Key::Data, "jsonl");
        let long = "a".repeat(200);
        let long = format!("{{\"prompt\": \"{long}\", \"completion\": \"b\"}}");
        check(&[jsonl], None, Key::FileName);
        check(&[jsonl], Some("nonsense"), Key::FileName);
        check(&[jsonl], Some(" \n"), Key::FileName);
        check(&[jsonl], Some(&long), Key::Context);
        let cut = [jsonl, (Key::Lengths, "list"), (Key::LengthList, "4")];
        check(&cut, Some(&long), Key::Lengths);
        check(&[(Key::LastGroup, "drop"), (Key::Examples, "3")], None, Key::LastGroup);
        let mlp = (Key::Model, "token_mlp");
        check(&[mlp, (Key::Start, "\u{3a9}:2")], None, Key::Start);
        let many = [
            mlp,
            (Key::Examples, "20000"),
            (Key::Lengths, "list"),
            (Key::LengthList, "4000"),
        ];
        check(&many, None, Key::Examples);
        let wide = [
            mlp,
            (Key::Microbatch, "64"),
            (Key::Lengths, "log_normal"),
            (Key::LengthMedian, "900"),
        ];
        check(&wide, None, Key::Microbatch);
    }
}
