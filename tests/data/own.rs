//! A person's own text, JSON lines and lengths.

use microbatch_lab::{
    batch::{Example, IGNORE_INDEX},
    data::{self, Corpus, DataError},
    setup::{Key, limits},
};
use proptest::prelude::*;

use super::{MLP, setup, support, written};

pub(super) fn jsonl(changes: &[(Key, &str)], text: &str) -> Result<Corpus, DataError> {
    let mut all = vec![(Key::Data, "jsonl")];
    all.extend_from_slice(changes);
    data::build(&setup(&all), Some(text))
}

#[test]
fn lines_are_examples_and_blank_ones_are_not() {
    let text = "ab\n\n  \ncde\nf";
    let corpus = data::build(&setup(&[(Key::Data, "text")]), Some(text)).expect("has lines");
    let lines: Vec<String> = corpus.examples.iter().map(|e| written(&corpus, e).0).collect();
    assert_eq!(lines, ["ab\n", "cde\n", "f\n"]);
    assert!(
        corpus
            .examples
            .iter()
            .all(|e| e.labels.iter().all(|&label| label != IGNORE_INDEX))
    );
}

#[test]
fn lines_longer_than_the_context_are_cut_into_windows() {
    let setup = setup(&[(Key::Data, "text"), (Key::Context, "4")]);
    let corpus = data::build(&setup, Some("abcdefghij")).expect("has a line");
    let windows: Vec<String> = corpus.examples.iter().map(|e| written(&corpus, e).0).collect();
    assert_eq!(windows, ["abcde", "efghi", "ij\n"]);
}

#[test]
fn json_lines_supervise_the_completion_and_its_end() {
    let text = "{\"prompt\": \"2+2=\", \"completion\": \"4\", \"note\": 1}\r\n\r\n{\"completion\": \"да\", \"prompt\": \"\"}\n";
    let corpus = jsonl(&[], text).expect("two rows");
    let rows: Vec<_> = corpus.examples.iter().map(|e| written(&corpus, e)).collect();
    assert_eq!(rows, [("2+2=4■".into(), "4■".into()), ("да■".into(), "а■".to_owned())]);
    assert_eq!(corpus.cut_positions, 0);
}

#[test]
fn broken_json_lines_are_named() {
    let good = "{\"prompt\": \"a\", \"completion\": \"b\"}\n";
    let at = |bad: &str| jsonl(&[], &format!("{good}\n{good}{bad}\n{good}")).expect_err(bad);
    for bad in [
        "{\"prompt\": \"a\", ",
        "nonsense",
        "[1, 2]x",
        "{\"prompt\": 3, \"completion\": \"b\"}",
        "17",
    ] {
        let error = at(bad);
        assert!(matches!(error, DataError::BadJson { line: 4, .. }), "{bad}: {error:?}");
    }
    let missing = |field: &str| DataError::MissingField {
        line: 4,
        field: field.into(),
    };
    assert_eq!(at("{\"prompt\": \"a\"}"), missing("completion"));
    assert_eq!(at("{\"completion\": \"a\"}"), missing("prompt"));
}

#[test]
fn a_rule_cuts_json_lines_and_says_how_much() {
    let text = "{\"prompt\": \"abc\", \"completion\": \"defg\"}\n{\"prompt\": \"abcdef\", \"completion\": \"g\"}";
    let corpus = jsonl(&[(Key::Lengths, "list"), (Key::LengthList, "4")], text).expect("two rows");
    let rows: Vec<_> = corpus.examples.iter().map(|e| written(&corpus, e)).collect();
    assert_eq!(rows[0], ("abcde".into(), "de".into()));
    assert_eq!((corpus.unsupervised, corpus.cut_positions), (1, 3 + 3));
    let nothing = jsonl(&[(Key::Lengths, "list"), (Key::LengthList, "1")], text);
    assert_eq!(nothing, Err(DataError::NothingSupervised));
    let long = jsonl(&[(Key::Context, "5")], text);
    assert_eq!(
        long,
        Err(DataError::TooLong {
            example: 0,
            length: 7,
            max: 5
        })
    );
}

#[test]
fn own_data_needs_its_file() {
    let setup = setup(&[(Key::Data, "text"), (Key::FileName, "poem.txt")]);
    assert_eq!(
        data::build(&setup, None),
        Err(DataError::FileNeeded {
            name: "poem.txt".into()
        })
    );
    assert_eq!(data::build(&setup, Some("")), Err(DataError::Empty));
    assert_eq!(data::build(&setup, Some("\n \n")), Err(DataError::Empty));
}

#[test]
fn files_are_refused_by_size_and_bytes() {
    assert_eq!(data::read_file(b""), Err(DataError::Empty));
    assert_eq!(data::read_file(b"  \n"), Err(DataError::Empty));
    assert_eq!(data::read_file(b"ab\xFFc"), Err(DataError::NotUtf8 { at: 2 }));
    let max = limits::MAX_FILE_BYTES;
    assert_eq!(
        data::check_size(200_000_000),
        Err(DataError::TooLarge {
            bytes: 200_000_000,
            max
        })
    );
    let large = vec![b'a'; usize::try_from(max).expect("fits") + 1];
    assert_eq!(
        data::read_file(&large),
        Err(DataError::TooLarge { bytes: max + 1, max })
    );
    assert_eq!(data::read_file(b"\xEF\xBB\xBFa\r\nb\rc\n").as_deref(), Ok("a\nb\nc\n"));
}

#[test]
fn files_of_lengths() {
    assert_eq!(
        data::parse_lengths_file("512, 1536\r\n64;7 8\n"),
        Ok(vec![512, 1536, 64, 7, 8])
    );
    assert_eq!(data::parse_lengths_file(" \n"), Err(DataError::Empty));
    for bad in ["0", "-3", "2.5", "x", "99999999999"] {
        let expected = Err(DataError::BadLength {
            line: 2,
            given: bad.into(),
        });
        assert_eq!(data::parse_lengths_file(&format!("5\n{bad}")), expected, "{bad}");
    }
    let many = "1\n".repeat(20_001);
    assert_eq!(
        data::parse_lengths_file(&many),
        Err(DataError::TooManyLengths {
            count: 20_001,
            max: 20_000
        })
    );
}

proptest! {
    #![proptest_config(support::config(64))]

    #[test]
    fn windows_cover_the_text_once(text in "[a-zж\n ]{2,300}", min in 1u32..9, more in 0u32..9) {
        let changes = [
            (Key::Data, "text"), MLP, (Key::Lengths, "uniform"),
            (Key::LengthMin, &*min.to_string()), (Key::LengthMax, &*(min + more).to_string()),
        ];
        let corpus = data::build(&setup(&changes), Some(&text)).expect("has characters");
        let predicted: String = corpus.examples.iter().map(|e| written(&corpus, e).1).collect();
        prop_assert_eq!(predicted, text.chars().skip(1).collect::<String>());
        let (last, full) = corpus.examples.split_last().expect("some");
        let wished = |e: &Example| (min as usize..=(min + more) as usize).contains(&e.length());
        prop_assert!(full.iter().all(wished));
        prop_assert!(last.length() >= 1 && last.length() <= (min + more) as usize);
    }

    #[test]
    fn no_file_can_break_the_readers(bytes in prop::collection::vec(any::<u8>(), 0..200), lines in "([{\"a-z:,} ]|prompt|completion|\n){0,60}") {
        let _ = data::read_file(&bytes);
        let _ = data::parse_lengths_file(&lines);
        for (format, rule) in [("text", "data"), ("text", "log_normal"), ("jsonl", "data"), ("jsonl", "uniform")] {
            let setup = setup(&[(Key::Data, format), (Key::Lengths, rule)]);
            let _ = data::build(&setup, Some(&lines));
            let _ = data::build(&setup, Some(&String::from_utf8_lossy(&bytes)));
        }
    }
}
