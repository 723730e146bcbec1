//! Generated tasks, their lengths, and the presets.

use std::collections::HashSet;

use microbatch_lab::{
    batch::{Example, GroupLoss},
    data::{self, END},
    setup::{Key, PRESETS, parse::parse},
};
use proptest::prelude::*;

use super::{MLP, build, support, written};

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
}
