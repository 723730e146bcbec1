//! Every coefficient against its formula, worked out once more from bare counts: uneven, partial and empty microbatches included.

use microbatch_lab::batch::{
    Convention, ConventionId, GroupFacts, MicrobatchFacts, Pass, TokenWeights, convention::TABLE,
};
use proptest::{collection::vec, prelude::*};

use super::support;

/// One microbatch as bare counts.
#[derive(Clone, Copy, Debug)]
struct Count {
    /// n.
    scored: u64,
    /// Examples with any scored token.
    examples: u32,
    /// Positions that hold a token.
    held: u64,
    /// All positions.
    all: u64,
}

fn count() -> impl Strategy<Value = Count> {
    let n = prop_oneof![1 => Just(0u64), 4 => 1u64..60];
    (n, 1u32..5, 0u64..9, 0u64..9).prop_map(|(scored, examples, ignored, padding)| Count {
        scored,
        examples: if scored == 0 {
            0
        } else {
            examples.min(u32::try_from(scored).expect("few"))
        },
        held: scored + ignored + u64::from(scored == 0),
        all: scored + ignored + u64::from(scored == 0) + padding,
    })
}

/// Counts `[d][a]`, rows of their own lengths as in a partial group, and A as set: at least as many as any replica has.
fn counts() -> impl Strategy<Value = (Vec<Vec<Count>>, u32)> {
    vec(vec(count(), 1..5), 1..5)
        .prop_filter("some token", |rows| rows.iter().flatten().any(|k| k.scored > 0))
        .prop_flat_map(|rows| {
            let most = rows.iter().map(Vec::len).max().unwrap_or(1);
            let most = u32::try_from(most).expect("few");
            (Just(rows), most..most + 3)
        })
}

fn facts(rows: &[Vec<Count>], set: u32) -> GroupFacts {
    let mut microbatches = Vec::new();
    for (replica, row) in (0u32..).zip(rows) {
        for (index, k) in (0u32..).zip(row) {
            microbatches.push(MicrobatchFacts {
                replica,
                index,
                examples: k.examples + 1,
                scored_examples: k.examples,
                supervised: k.scored,
                positions: k.all,
                unpadded: k.held,
            });
        }
    }
    GroupFacts {
        replicas: u32::try_from(rows.len()).expect("few"),
        nominal_accumulation: set,
        microbatches,
    }
}

/// What microbatch `[d][a]`'s loss sum is multiplied by, read off the formula of the row.
fn by_formula(id: ConventionId, rows: &[Vec<Count>], set: u32, d: usize, a: usize) -> f64 {
    let sum = |of: fn(&Count) -> u64| rows.iter().flatten().map(of).sum::<u64>() as f64;
    let k = rows[d][a];
    let (n, replicas, count) = (k.scored as f64, rows.len() as f64, set as usize);
    let set = f64::from(set);
    let tokens = sum(|k| k.scored);
    let of_replica: u64 = rows[d].iter().map(|k| k.scored).sum();
    match id {
        ConventionId::TokenWeighted | ConventionId::FullBatch => replicas / tokens,
        ConventionId::MeanOfMeans => 1.0 / n / rows[d].len() as f64,
        ConventionId::ReplicaTokenMean => 1.0 / of_replica as f64,
        ConventionId::DividedTwice => 1.0 / n / set / set,
        ConventionId::WeightedThenDividedByA => replicas / tokens / set,
        ConventionId::NeverDivided => 1.0 / n,
        ConventionId::Sum => 1.0,
        ConventionId::ReplicasForgotten => 1.0 / tokens,
        ConventionId::ReplicasAndAccumulationForgotten => 1.0 / tokens / set,
        ConventionId::PaddingCounted => 1.0 / k.all as f64 / set,
        ConventionId::NominalAccumulation => 1.0 / n / set,
        ConventionId::ExampleMean => replicas / sum(|k| k.examples.into()),
        ConventionId::ZeroGradEachMicrobatch => {
            if a + 1 == rows[d].len() {
                replicas / tokens
            } else {
                0.0
            }
        }
        ConventionId::IgnoredCounted => replicas / sum(|k| k.held),
        ConventionId::TwoDenominators => {
            let first = |a: usize| 2 * a < count;
            let mut tokens = 0;
            for row in rows {
                tokens += row
                    .iter()
                    .enumerate()
                    .filter(|(other, _)| first(*other) == first(a))
                    .map(|(_, k)| k.scored)
                    .sum::<u64>();
            }
            replicas / tokens as f64
        }
    }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-14 * b.abs()
}

proptest! {
    #![proptest_config(support::config(256))]

    #[test]
    fn every_coefficient_is_its_formula((rows, set) in counts()) {
        let group = facts(&rows, set);
        for row in TABLE {
            for k in &group.microbatches {
                let (d, a) = (k.replica as usize, k.index as usize);
                let wanted = if k.supervised == 0 { 0.0 } else { by_formula(row.id, &rows, set, d, a) };
                let got = row.coefficient(&group, k);
                prop_assert!(close(got, wanted), "{:?}: {got} for {wanted} at [{d}][{a}] of {rows:?}", row.id);
                let product = row.loss_factor(&group, k) * row.after_factor(&group);
                prop_assert!(close(product, wanted), "{:?}: the two factors make the coefficient", row.id);
                let after = if row.id == ConventionId::DividedTwice { 1.0 / f64::from(set) } else { 1.0 };
                prop_assert!(close(row.after_factor(&group), after), "{:?}", row.id);
            }
        }
    }

    #[test]
    fn the_loss_that_is_trained_is_the_sum_times_its_factor((rows, set) in counts(), mean in 0.1..9.0f64) {
        let group = facts(&rows, set);
        for row in TABLE {
            for k in &group.microbatches {
                let loss = row.backpropagated_loss(&group, k, mean * k.supervised as f64);
                let cleared = row.id == ConventionId::ZeroGradEachMicrobatch && !group.is_last_on_replica(k);
                if k.supervised > 0 && !cleared {
                    let wanted = mean * k.supervised as f64 * row.loss_factor(&group, k);
                    prop_assert!(close(loss, wanted), "{:?}", row.id);
                }
            }
        }
    }

    #[test]
    fn counts_of_a_group_are_sums_over_its_microbatches((rows, set) in counts()) {
        let group = facts(&rows, set);
        let sum = |of: fn(&Count) -> u64| rows.iter().flatten().map(of).sum::<u64>();
        prop_assert_eq!(group.supervised(), sum(|k| k.scored));
        prop_assert_eq!(group.unpadded(), sum(|k| k.held));
        prop_assert_eq!(group.scored_examples(), sum(|k| k.examples.into()));
        for (d, row) in (0u32..).zip(&rows) {
            prop_assert_eq!(group.supervised_on(d), row.iter().map(|k| k.scored).sum::<u64>());
            prop_assert_eq!(group.accumulated_on(d), row.len() as u64);
        }
        let last = group.microbatches.iter().filter(|k| group.is_last_on_replica(k)).count();
        prop_assert_eq!(last, rows.len(), "one a replica");
    }
}

/// A mean over no token is no number in PyTorch, and its loss is reported as such; what is divided by the group's tokens is 0.
#[test]
fn the_loss_of_an_empty_microbatch_is_what_pytorch_says() {
    let count = |scored| Count {
        scored,
        examples: u32::from(scored > 0),
        held: 3,
        all: 4,
    };
    let group = facts(&[vec![count(0), count(3)]], 2);
    let loss = |id| Convention::of(id).backpropagated_loss(&group, &group.microbatches[0], 0.0);
    for id in [
        ConventionId::MeanOfMeans,
        ConventionId::NeverDivided,
        ConventionId::NominalAccumulation,
        ConventionId::DividedTwice,
    ] {
        assert!(loss(id).is_nan(), "{id:?}");
    }
    for id in [
        ConventionId::TokenWeighted,
        ConventionId::Sum,
        ConventionId::PaddingCounted,
        ConventionId::IgnoredCounted,
    ] {
        assert_eq!(loss(id), 0.0, "{id:?}");
    }
    for row in TABLE {
        let means_nothing = row.is_mean_of_none(&group, &group.microbatches[0]);
        assert_eq!(
            means_nothing,
            loss(row.id).is_nan(),
            "{:?}: 0 times what is no number",
            row.id
        );
        assert!(!row.is_mean_of_none(&group, &group.microbatches[1]), "{:?}", row.id);
        assert_eq!(row.coefficient(&group, &group.microbatches[0]), 0.0, "{:?}", row.id);
        assert_eq!(row.loss_factor(&group, &group.microbatches[0]), 0.0, "{:?}", row.id);
    }
}

#[test]
fn only_two_rows_go_through_the_model_in_a_way_of_their_own() {
    for row in TABLE {
        assert_eq!(row.pass == Pass::Whole, row.id == ConventionId::FullBatch);
        assert_eq!(
            row.token_weights == TokenWeights::ExampleMean,
            row.id == ConventionId::ExampleMean
        );
        assert_eq!(
            row.correct,
            matches!(row.id, ConventionId::TokenWeighted | ConventionId::FullBatch)
        );
    }
}
