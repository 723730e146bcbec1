//! From a Setup to examples: what is generated, read, cut and refused.
#![cfg(not(target_arch = "wasm32"))]

#![allow(clippy::expect_used, reason = "strategies and helpers fail their test at once")]

mod support;

use std::collections::HashSet;

use microbatch_lab::{
    batch::{Example, GroupLoss, IGNORE_INDEX},
    data::{self, Corpus, DataError, END, Summary},
    setup::{Draft, Key, PRESETS, Setup, limits, parse::parse},
};
use proptest::prelude::*;

fn setup(changes: &[(Key, &str)]) -> Setup {
    let draft = changes
        .iter()
        .fold(Draft::default(), |draft, &(key, text)| draft.with(key, text));
    parse(&draft).expect("a test's own setup")
}

fn build(changes: &[(Key, &str)]) -> Corpus {
    data::build(&setup(changes), None).expect("a test's own data")
}

/// Any length, so that only the data decides.
const MLP: (Key, &str) = (Key::Model, "token_mlp");

/// The characters of an example, and those of them that are supervised.
fn written(corpus: &Corpus, example: &Example) -> (String, String) {
    let character = |id: u32| corpus.vocabulary.character(id).expect("no padding inside an example");
    let last = example.labels.last().and_then(|&label| u32::try_from(label).ok());
    let all = example.tokens.iter().copied().chain(last).map(character).collect();
    let supervised = example
        .labels
        .iter()
        .filter_map(|&label| u32::try_from(label).ok())
        .map(character)
        .collect();
    (all, supervised)
}

#[test]
fn every_preset_is_a_setup_with_data() {
    let names: HashSet<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    assert_eq!(names.len(), PRESETS.len());
    for preset in PRESETS {
        let setup = parse(&(preset.draft)()).unwrap_or_else(|errors| panic!("{}: {errors:?}", preset.name));
        let corpus = data::build(&setup, None).unwrap_or_else(|error| panic!("{}: {error}", preset.name));
        assert_eq!(corpus.unsupervised, 0, "{}", preset.name);
        let group = usize::try_from(setup.split.effective_batch()).expect("small");
        assert!(
            corpus.examples.len() >= group,
            "{}: an epoch fills a group",
            preset.name
        );
    }
}

#[test]
fn the_known_losses_of_two_sources_count_to_three_and_a_half_or_three() {
    let preset = PRESETS
        .iter()
        .find(|preset| preset.name == "512_1536")
        .expect("is there");
    let corpus = data::build(&parse(&(preset.draft)()).expect("parses"), None).expect("builds");
    let counts: Vec<u64> = corpus.examples.iter().map(Example::supervised).collect();
    assert_eq!(counts, [512, 1536]);
    let loss = GroupLoss::from_sums([(512.0 * 2.0, counts[0]), (1536.0 * 4.0, counts[1])]);
    assert_eq!((loss.token_weighted(), loss.mean_of_means()), (Some(3.5), Some(3.0)));
    assert_eq!(corpus.vocabulary.characters, ['l', 's']);
}

#[test]
fn answers_are_right_and_nothing_else_is_supervised() {
    for task in ["copy", "reverse", "sort", "addition"] {
        let corpus = build(&[(Key::Data, task), MLP]);
        assert_eq!(corpus.examples.len(), 240);
        for example in &corpus.examples {
            let (all, supervised) = written(&corpus, example);
            let (prompt, completion) = all.split_once('=').expect("has a sign");
            assert_eq!(supervised, completion, "{task}: {all}");
            let mut letters: Vec<char> = prompt.chars().collect();
            let answer: String = match task {
                "copy" => prompt.to_owned(),
                "reverse" => prompt.chars().rev().collect(),
                "sort" => {
                    letters.sort_unstable();
                    letters.into_iter().collect()
                }
                _ => prompt
                    .split('+')
                    .map(|n| n.parse::<u64>().expect("a number"))
                    .sum::<u64>()
                    .to_string(),
            };
            assert_eq!(completion, format!("{answer}{END}"), "{task}: {all}");
        }
    }
}

#[test]
fn lengths_of_tasks_vary_by_themselves() {
    for task in ["copy", "reverse", "sort", "addition", "two_sources"] {
        let lengths: HashSet<usize> = build(&[(Key::Data, task)])
            .examples
            .iter()
            .map(Example::length)
            .collect();
        assert!(lengths.len() >= 8, "{task}: {lengths:?}");
        assert!(lengths.iter().all(|&length| length <= 40), "{task}");
    }
}

#[test]
fn the_same_seed_gives_the_same_examples_and_another_others() {
    let at = |seed| build(&[(Key::Lengths, "two_humped"), (Key::Seed, seed)]);
    assert_eq!(at("7"), at("7"));
    assert_ne!(at("7").examples, at("8").examples);
}

#[test]
fn content_and_lengths_have_streams_of_their_own() {
    let content = |rule| {
        written(
            &build(&[(Key::Lengths, rule)]),
            &build(&[(Key::Lengths, rule)]).examples[0],
        )
        .0
    };
    // Log-normal and uniform rules draw differently, yet the letters come in the same order.
    let (uniform, normal) = (content("uniform"), content("log_normal"));
    let letters = |s: &str| s.split('=').next().unwrap_or_default().to_owned();
    let shorter = letters(&uniform).len().min(letters(&normal).len());
    assert_eq!(letters(&uniform)[..shorter], letters(&normal)[..shorter]);
}

proptest! {
    #![proptest_config(support::config(64))]

    #[test]
    fn wished_lengths_are_met_as_nearly_as_a_task_allows(length in 1usize..200, seed in any::<u16>(), seven in 1u32..60) {
        let text = length.to_string();
        for task in ["copy", "reverse", "sort", "addition", "two_sources"] {
            let corpus = build(&[
                (Key::Data, task), MLP, (Key::Lengths, "list"), (Key::LengthList, &text), (Key::Seed, &seed.to_string()),
                (Key::Examples, &seven.to_string()),
            ]);
            let expected = match task {
                "two_sources" => length,
                "addition" => length.max(5),
                _ => (length - usize::from(length % 2 == 0)).max(3),
            };
            prop_assert!(corpus.examples.iter().all(|e| e.length() == expected), "{} {}", task, length);
        }
    }

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

#[test]
fn rules_for_lengths_draw_what_they_say() {
    let lengths = |changes: &[(Key, &str)]| -> Vec<u32> {
        let mut all = vec![(Key::Data, "two_sources"), MLP, (Key::Examples, "4000")];
        all.extend_from_slice(changes);
        build(&all)
            .examples
            .iter()
            .map(|e| u32::try_from(e.length()).expect("short"))
            .collect()
    };
    let list = lengths(&[(Key::Lengths, "list"), (Key::LengthList, "3 5 8")]);
    assert_eq!(list[..7], [3, 5, 8, 3, 5, 8, 3]);

    let uniform = lengths(&[(Key::Lengths, "uniform"), (Key::LengthMin, "4"), (Key::LengthMax, "7")]);
    for length in 4..=7 {
        let share = uniform.iter().filter(|&&l| l == length).count();
        assert!((900..1100).contains(&share), "{length}: {share} of 4000");
    }
    assert!(uniform.iter().all(|l| (4..=7).contains(l)));

    let normal = lengths(&[
        (Key::Lengths, "log_normal"),
        (Key::LengthMedian, "50"),
        (Key::LengthSigma, "0.5"),
    ]);
    let below = |limit: f64| normal.iter().filter(|&&l| f64::from(l) < limit).count();
    assert!(
        (1850..2150).contains(&below(50.0)),
        "half are below the median: {}",
        below(50.0)
    );
    // One standard deviation below the median lie 15.9 % of a normal law.
    assert!(
        (540..740).contains(&below(50.0 * (-0.5f64).exp())),
        "{}",
        below(50.0 * (-0.5f64).exp())
    );

    let humps = lengths(&[
        (Key::Lengths, "two_humped"),
        (Key::LengthShort, "8"),
        (Key::LengthLong, "40"),
        (Key::LengthLongShare, "0.25"),
    ]);
    let long = humps.iter().filter(|&&l| (30..=50).contains(&l)).count();
    assert!((900..1100).contains(&long), "{long} of 4000 are long");
    assert_eq!(humps.iter().filter(|&&l| (6..=10).contains(&l)).count(), 4000 - long);
}

#[test]
fn drawn_lengths_end_at_the_context() {
    let corpus = build(&[
        (Key::Data, "two_sources"),
        (Key::Lengths, "log_normal"),
        (Key::LengthMedian, "30"),
        (Key::LengthSigma, "2"),
        (Key::Examples, "1000"),
    ]);
    assert_eq!(corpus.examples.iter().map(Example::length).max(), Some(40));
}

#[test]
fn a_context_too_short_for_a_task_is_named() {
    let short = setup(&[(Key::Data, "addition"), (Key::Context, "4")]);
    assert!(matches!(
        data::build(&short, None),
        Err(DataError::TooLong {
            example: 0,
            length: 5..,
            max: 4
        })
    ));
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

fn jsonl(changes: &[(Key, &str)], text: &str) -> Result<Corpus, DataError> {
    let mut all = vec![(Key::Data, "jsonl")];
    all.extend_from_slice(changes);
    data::build(&setup(&all), Some(text))
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
fn what_does_not_fit_a_tab_is_refused() {
    let text: String = (0..2000u32).filter_map(|i| char::from_u32(0x4E00 + i)).collect();
    let own = |changes: &[(Key, &str)], text: &str| {
        let mut all = vec![(Key::Data, "text"), MLP];
        all.extend_from_slice(changes);
        data::build(&setup(&all), Some(text))
    };
    assert_eq!(
        own(&[], &text),
        Err(DataError::VocabularyTooLarge {
            distinct: 2001,
            max: 1024
        })
    );
    let long = "a".repeat(4000);
    let wide = [(Key::Microbatch, "32"), (Key::Accumulation, "1"), (Key::Replicas, "1")];
    assert_eq!(
        own(&wide, &long),
        Err(DataError::TooManyPositions {
            positions: 128_000,
            max: 65_536
        })
    );
    let whole = [
        (Key::Microbatch, "2"),
        (Key::Accumulation, "16"),
        (Key::Replicas, "1"),
        (Key::Lanes, "full_batch"),
    ];
    assert_eq!(
        own(&whole, &long),
        Err(DataError::TooManyPositions {
            positions: 128_000,
            max: 65_536
        })
    );
    let many = "a\n".repeat(20_001);
    assert_eq!(
        own(&[], &many),
        Err(DataError::TooManyExamples {
            examples: 20_001,
            max: 20_000
        })
    );
    let tokens = setup(&[
        (Key::Data, "two_sources"),
        MLP,
        (Key::Lengths, "list"),
        (Key::LengthList, "4000"),
        (Key::Examples, "20000"),
    ]);
    assert_eq!(
        data::build(&tokens, None),
        Err(DataError::TooManyTokens {
            tokens: 8_004_000,
            max: 8_000_000
        })
    );
}

#[test]
fn dropping_the_only_group_is_refused() {
    let few = |last: &'static str| data::build(&setup(&[(Key::Examples, "15"), (Key::LastGroup, last)]), None);
    assert_eq!(
        few("drop"),
        Err(DataError::NoFullGroup {
            examples: 15,
            needed: 16
        })
    );
    assert!(few("process").is_ok());
    assert!(data::build(&setup(&[(Key::Examples, "16"), (Key::LastGroup, "drop")]), None).is_ok());
}

#[test]
fn start_letters_must_be_in_the_data() {
    let start = setup(&[MLP, (Key::Start, "s:2,=:4")]);
    assert_eq!(
        data::build(&start, None),
        Err(DataError::StartLetterUnknown { letter: 's' })
    );
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

#[test]
fn a_summary_counts_what_is_there() {
    let corpus = jsonl(
        &[],
        "{\"prompt\": \"ab\", \"completion\": \"c\"}\n{\"prompt\": \"a\", \"completion\": \"bcde\"}",
    )
    .expect("ok");
    let Summary {
        count,
        shortest,
        median,
        longest,
        positions,
        supervised,
        lengths,
        supervised_counts,
        samples,
    } = data::summary(&corpus);
    assert_eq!(
        (count, shortest, median, longest, positions, supervised),
        (2, 3, 3, 5, 8, 2 + 5)
    );
    let bars = |bins: &[data::Bin]| bins.iter().map(|b| (b.from, b.to, b.examples)).collect::<Vec<_>>();
    assert_eq!(bars(&lengths), [(3, 3, 1), (4, 4, 0), (5, 5, 1)]);
    assert_eq!(bars(&supervised_counts), [(2, 2, 1), (3, 3, 0), (4, 4, 0), (5, 5, 1)]);
    let runs: Vec<(&str, bool)> = samples[0].runs.iter().map(|run| (&*run.text, run.supervised)).collect();
    assert_eq!((runs, samples[0].cut), (vec![("ab", false), ("c■", true)], false));
}

proptest! {
    #![proptest_config(support::config(64))]

    #[test]
    fn histograms_hold_every_example_once(lengths in prop::collection::vec(1u32..500, 1..60)) {
        let list = lengths.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
        let count = lengths.len().to_string();
        let corpus = build(&[(Key::Data, "two_sources"), MLP, (Key::Lengths, "list"), (Key::LengthList, &list), (Key::Examples, &count)]);
        let bins = data::summary(&corpus).lengths;
        prop_assert!(bins.len() <= 24);
        prop_assert!(bins.windows(2).all(|pair| pair[1].from == pair[0].to + 1));
        for bin in bins {
            let inside = lengths.iter().filter(|&&l| (bin.from..=bin.to).contains(&l)).count();
            prop_assert_eq!(bin.examples, inside as u64);
        }
    }
}
