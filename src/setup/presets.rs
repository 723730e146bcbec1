//! The experiments on the first screen.

use super::{Draft, Key};

/// A named experiment.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its stable name, also the key of its text.
    pub name: &'static str,
    /// Its draft.
    pub draft: fn() -> Draft,
}

/// All presets; the first is what a new visitor sees.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "sort_uneven",
        draft: sort_uneven,
    },
    Preset {
        name: "512_1536",
        draft: two_sources,
    },
    Preset {
        name: "2x8x2",
        draft: two_by_eight_by_two,
    },
    Preset {
        name: "uneven_replicas",
        draft: uneven_replicas,
    },
    Preset {
        name: "equal_lengths",
        draft: equal_lengths,
    },
    Preset {
        name: "smallest",
        draft: smallest,
    },
];

impl Preset {
    /// The preset called `name`.
    pub fn named(name: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.name == name)
    }
}

fn with(changes: &[(Key, &str)]) -> Draft {
    changes
        .iter()
        .fold(Draft::default(), |draft, &(key, text)| draft.with(key, text))
}

/// Many short answers and a few long ones: a mean of microbatch means gives the short ones the louder voice.
fn sort_uneven() -> Draft {
    with(&[(Key::Lengths, "two_humped")])
}

/// 512 tokens at a loss of 2 and 1,536 at 4: (512 x 2 + 1536 x 4) / 2048 = 3.5, (2 + 4) / 2 = 3.
/// Known losses at the start make the first group measure just that.
fn two_sources() -> Draft {
    with(&[
        (Key::Microbatch, "1"),
        (Key::Accumulation, "2"),
        (Key::Replicas, "1"),
        (Key::Shuffle, "no"),
        (Key::Data, "two_sources"),
        (Key::Examples, "2"),
        (Key::Lengths, "list"),
        (Key::LengthList, "512, 1536"),
        (Key::Model, "token_mlp"),
        (Key::Embed, "4"),
        (Key::Hidden, "8"),
        (Key::Start, "s:2,l:4"),
        (Key::Optimizer, "sgd"),
        (Key::Momentum, "0"),
        (Key::Rate, "0.1"),
        (Key::Budget, "60"),
    ])
}

/// m 2 x A 8 x D 2 = 32 examples an update.
fn two_by_eight_by_two() -> Draft {
    with(&[
        (Key::Microbatch, "2"),
        (Key::Accumulation, "8"),
        (Key::Replicas, "2"),
        (Key::Data, "reverse"),
        (Key::Examples, "320"),
        (Key::Budget, "6400"),
        (Key::BudgetUnit, "examples"),
    ])
}

/// One replica gets the short examples and the other the long ones, so their token counts differ and a mean per replica is biased.
fn uneven_replicas() -> Draft {
    with(&[
        (Key::Microbatch, "2"),
        (Key::Accumulation, "2"),
        (Key::Replicas, "2"),
        (Key::Sharding, "blocks"),
        (Key::Shuffle, "no"),
        (Key::Lengths, "list"),
        (Key::LengthList, "5, 7, 5, 7, 25, 33, 25, 33"),
        (Key::Lanes, "token_weighted,replica_token_mean,mean_of_means"),
    ])
}

/// Every example has the same number of supervised tokens: all these ways of counting are one.
fn equal_lengths() -> Draft {
    with(&[
        (Key::Microbatch, "2"),
        (Key::Accumulation, "2"),
        (Key::Replicas, "2"),
        (Key::Data, "copy"),
        (Key::Lengths, "list"),
        (Key::LengthList, "13"),
        (Key::Lanes, "token_weighted,mean_of_means,replica_token_mean,full_batch"),
    ])
}

/// For devices on which each launch is slow.
fn smallest() -> Draft {
    with(&[
        (Key::Microbatch, "1"),
        (Key::Accumulation, "2"),
        (Key::Replicas, "1"),
        (Key::Data, "copy"),
        (Key::Examples, "32"),
        (Key::Lengths, "list"),
        (Key::LengthList, "5, 9, 17"),
        (Key::Model, "token_mlp"),
        (Key::Embed, "8"),
        (Key::Hidden, "16"),
        (Key::Optimizer, "sgd"),
        (Key::Rate, "0.1"),
        (Key::Budget, "200"),
    ])
}
