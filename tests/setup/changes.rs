//! What differs between two experiments.

use microbatch_lab::setup::{
    Draft, Key, PRESETS,
    diff::{Change, drafts, setups},
    parse::parse,
};
use proptest::prelude::*;

use super::support;

fn change(key: Key, before: Option<&str>, after: Option<&str>) -> Change {
    Change {
        key,
        before: before.map(str::to_owned),
        after: after.map(str::to_owned),
    }
}

#[test]
fn only_fields_with_an_effect_are_named() {
    let before = Draft::default().with(Key::Momentum, "0.5");
    let after = before.clone().with(Key::Accumulation, " 8 ").with(Key::LengthMin, "7");
    assert_eq!(
        drafts(&before, &after),
        [change(Key::Accumulation, Some("4"), Some("8"))]
    );
    let sgd = after.clone().with(Key::Optimizer, "sgd");
    let expected = [
        change(Key::Optimizer, Some("adamw"), Some("sgd")),
        change(Key::Momentum, None, Some("0.5")),
        change(Key::Beta1, Some("0.9"), None),
        change(Key::Beta2, Some("0.999"), None),
        change(Key::WeightDecay, Some("0.01"), None),
    ];
    assert_eq!(drafts(&after, &sgd), expected);
}

#[test]
fn presets_differ_from_one_another() {
    for (at, preset) in PRESETS.iter().enumerate() {
        for other in &PRESETS[at + 1..] {
            assert!(
                !drafts(&(preset.draft)(), &(other.draft)()).is_empty(),
                "{} {}",
                preset.name,
                other.name
            );
        }
    }
}

proptest! {
    #![proptest_config(support::config(128))]

    #[test]
    fn two_setups_are_the_same_exactly_where_nothing_differs(
        first in support::setups::setup(), second in support::setups::setup(), seed in any::<u32>()
    ) {
        prop_assert_eq!(setups(&first, &first), []);
        prop_assert_eq!(setups(&first, &second).is_empty(), first == second);
        let mut reseeded = first.clone();
        reseeded.seed = seed;
        let changes = setups(&first, &reseeded);
        prop_assert_eq!(changes.iter().map(|change| change.key).collect::<Vec<_>>(), vec![Key::Seed; usize::from(seed != first.seed)]);
        // What is named is enough to get from one to the other.
        let draft = setups(&first, &second).into_iter().fold(Draft::from(&first), |draft, change| match change.after {
            Some(text) => draft.with(change.key, text),
            None => draft,
        });
        prop_assert_eq!(parse(&draft), Ok(second));
    }
}
