//! The experiments on the first screen.

use super::{Draft, Key};

/// A named experiment.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its stable name, also the key of its text.
    pub name: &'static str,
    /// What it shows.
    pub kind: PresetKind,
    /// Its draft.
    pub draft: fn() -> Draft,
}

/// What a preset shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PresetKind {
    /// Ways of counting, right and wrong.
    Counting,
    /// Faults of a loop, beside the right one.
    Loops,
}

/// All presets; the first is what a new visitor sees.
pub const PRESETS: &[Preset] = &[
    counting("sort_uneven", sort_uneven),
    counting("512_1536", two_sources),
    counting("2x8x2", two_by_eight_by_two),
    counting("uneven_replicas", uneven_replicas),
    counting("equal_lengths", equal_lengths),
    counting("smallest", smallest),
    loops("zero_grad", zero_grad),
    loops("sync_first", sync_first),
    loops("infinity", infinity),
    loops("clip_each", clip_each),
    loops("scheduler", scheduler),
];

const fn counting(name: &'static str, draft: fn() -> Draft) -> Preset {
    let kind = PresetKind::Counting;
    Preset { name, kind, draft }
}

const fn loops(name: &'static str, draft: fn() -> Draft) -> Preset {
    let kind = PresetKind::Loops;
    Preset { name, kind, draft }
}

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

/// One replica, so that nothing but the clearing of gradients tells the lanes apart.
fn zero_grad() -> Draft {
    with(&[
        (Key::Replicas, "1"),
        (Key::Lanes, "token_weighted,token_weighted+zero_grad_before_backward"),
    ])
}

/// Two replicas that see different examples, and part as soon as they are not reduced after the last microbatch.
fn sync_first() -> Draft {
    with(&[(
        Key::Lanes,
        "token_weighted,token_weighted+sync_first_microbatch,token_weighted+never_synced",
    )])
}

/// Attempts 10, 11 and 30 meet an infinity: the loss scale halves three times and, on a warm-up, a scheduler that is not held shows
/// another learning rate from the first of them on.
fn infinity() -> Draft {
    with(&[
        (Key::Schedule, "linear_warmup_decay"),
        (Key::Warmup, "40"),
        (Key::ScheduleTotal, "200"),
        (Key::LossScale, "dynamic"),
        (Key::InitScale, "1024"),
        (Key::GrowthInterval, "40"),
        (Key::InjectInf, "10:1:1, 11:2:1, 30:1:2"),
        (Key::Lanes, "token_weighted,token_weighted+scheduler_each_attempt"),
        (Key::Budget, "200"),
    ])
}

/// SGD without momentum, since AdamW hides by how much a gradient was cut; uneven lengths, so that microbatches differ in norm.
fn clip_each() -> Draft {
    with(&[
        (Key::Lengths, "two_humped"),
        (Key::Optimizer, "sgd"),
        (Key::Momentum, "0"),
        (Key::Rate, "0.3"),
        (Key::ClipNorm, "0.5"),
        (
            Key::Lanes,
            "token_weighted,token_weighted+clip_each_contribution,token_weighted+clip_each_mean,token_weighted+clip_running_gradient",
        ),
    ])
}

/// A = 4: a schedule of 400 steps is over after 100 updates.
fn scheduler() -> Draft {
    with(&[
        (Key::Schedule, "linear_warmup_decay"),
        (Key::Lanes, "token_weighted,token_weighted+scheduler_each_microbatch"),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::parse::parse;

    #[test]
    fn faults_stand_beside_the_right_loop() {
        for preset in PRESETS {
            let setup = parse(&(preset.draft)()).unwrap();
            let loops = preset.kind == PresetKind::Loops;
            assert!(
                setup.lanes[0].correct(),
                "{}: the others are compared with lane 1",
                preset.name
            );
            for lane in &setup.lanes[1..] {
                assert_eq!(!lane.faults.is_empty(), loops, "{}", preset.name);
            }
        }
    }

    #[test]
    fn every_injection_meets_a_microbatch() {
        let setup = parse(&infinity()).unwrap();
        let split = setup.split;
        assert_eq!(setup.inject_inf.len(), 3);
        for at in setup.inject_inf {
            assert!(at.microbatch <= split.accumulation.get() && at.replica <= split.replicas.get());
            assert!(at.attempt < setup.budget.amount);
        }
    }
}
