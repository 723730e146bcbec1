//! Coefficients: which conventions agree with a full pass, and when.

use std::collections::BTreeSet;

use microbatch_lab::{
    batch::{
        Convention, ConventionId, Example, GroupFacts, MicrobatchFacts, PaddedBatch, Pass,
        convention::TABLE,
        oracle::{Contribution, combine, relative_l2, token_weights},
    },
    setup::Named,
};
use proptest::{collection::vec, prelude::*};

use super::{plan::examples, support};

/// A group of given counts `[d][a]` with m examples a microbatch.
fn facts(counts: &[Vec<u64>]) -> GroupFacts {
    let small = |n: usize| u32::try_from(n).expect("few");
    let accumulation = counts.iter().map(Vec::len).max().unwrap_or(0);
    let cell = |replica: usize, index: usize, supervised: u64| MicrobatchFacts {
        replica: small(replica),
        index: small(index),
        examples: 2,
        scored_examples: u32::from(supervised > 0) + u32::from(supervised > 1),
        supervised,
        positions: supervised + 5,
        unpadded: supervised + 3,
    };
    let cells = counts.iter().enumerate();
    GroupFacts {
        replicas: small(counts.len()),
        nominal_accumulation: small(accumulation),
        microbatches: cells
            .flat_map(|(d, of)| of.iter().enumerate().map(move |(a, &n)| cell(d, a, n)))
            .collect(),
    }
}

const PARAMETERS: usize = 7;

/// Counts `[d][a]` and, for each microbatch, the gradient of its loss sum: 0 where it has no token.
fn group(
    counts: impl Strategy<Value = u64> + Clone + 'static,
) -> impl Strategy<Value = (GroupFacts, Vec<Contribution>)> {
    (1usize..5, 1usize..5)
        .prop_flat_map(move |(d, a)| vec(vec(counts.clone(), a), d))
        .prop_filter("some token", |counts| counts.iter().flatten().any(|&n| n > 0))
        .prop_flat_map(|counts| {
            let facts = facts(&counts);
            let gradients = vec(vec(-10.0..10.0f64, PARAMETERS), facts.microbatches.len());
            (Just(facts), gradients).prop_map(|(facts, gradients)| {
                let contributions = facts.microbatches.iter().zip(gradients).map(|(k, mut gradient)| {
                    for g in &mut gradient {
                        *g *= k.supervised as f64;
                    }
                    Contribution {
                        loss_sum: gradient[0].abs(),
                        gradient,
                    }
                });
                let contributions = contributions.collect();
                (facts, contributions)
            })
        })
}

/// The gradient of the mean over all supervised tokens, as one pass takes it.
fn full_pass(facts: &GroupFacts, contributions: &[Contribution]) -> Vec<f64> {
    let tokens: u64 = facts.microbatches.iter().map(|k| k.supervised).sum();
    let sum = |i: usize| contributions.iter().map(|c| c.gradient[i]).sum::<f64>();
    (0..PARAMETERS).map(|i| sum(i) / tokens as f64).collect()
}

fn agree(a: &[f64], b: &[f64]) -> bool {
    relative_l2(a, b) < 1e-11 || a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-11)
}

proptest! {
    #![proptest_config(support::config(512))]

    #[test]
    fn correct_conventions_give_the_gradient_of_a_full_pass((facts, parts) in group(0u64..40)) {
        let truth = full_pass(&facts, &parts);
        for convention in TABLE.iter().filter(|convention| convention.correct && convention.pass == Pass::AsSplit) {
            prop_assert!(agree(&combine(convention, &facts, &parts), &truth), "{:?}", convention.id);
        }
    }

    #[test]
    fn a_full_batch_is_a_full_pass((facts, parts) in group(0u64..40)) {
        let tokens = facts.supervised();
        let k = MicrobatchFacts { replica: 0, index: 0, supervised: tokens, ..facts.microbatches[0] };
        let whole = GroupFacts { replicas: 1, nominal_accumulation: 1, microbatches: vec![k] };
        let gradient = (0..PARAMETERS).map(|i| parts.iter().map(|c| c.gradient[i]).sum()).collect();
        let once = [Contribution { loss_sum: 0.0, gradient }];
        let ours = combine(Convention::of(ConventionId::FullBatch), &whole, &once);
        prop_assert!(agree(&ours, &full_pass(&facts, &parts)));
    }

    #[test]
    fn equal_counts_make_the_means_agree((facts, parts) in (1u64..40).prop_flat_map(|n| group(n..=n))) {
        let truth = full_pass(&facts, &parts);
        for id in [ConventionId::MeanOfMeans, ConventionId::ReplicaTokenMean, ConventionId::NominalAccumulation] {
            prop_assert!(agree(&combine(Convention::of(id), &facts, &parts), &truth), "{id:?}");
        }
    }

    #[test]
    fn equal_replicas_make_their_means_agree(
        row in vec(0u64..40, 1..5), d in 1usize..5, values in vec(-10.0..10.0f64, 25 * PARAMETERS)
    ) {
        prop_assume!(row.iter().any(|&n| n > 0));
        // Each replica has the same tokens in another order of microbatches.
        let counts: Vec<Vec<u64>> = (0..d).map(|d| { let mut row = row.clone(); let by = d % row.len(); row.rotate_left(by); row }).collect();
        let facts = facts(&counts);
        let parts: Vec<Contribution> = facts.microbatches.iter().zip(values.chunks(PARAMETERS)).map(|(k, g)| Contribution {
            loss_sum: 0.0, gradient: g.iter().map(|g| g * k.supervised as f64).collect(),
        }).collect();
        let ours = combine(Convention::of(ConventionId::ReplicaTokenMean), &facts, &parts);
        prop_assert!(agree(&ours, &full_pass(&facts, &parts)));
    }

    #[test]
    fn wrong_factors_are_multiples_of_right_ones((facts, parts) in group(1u64..40)) {
        let of = |id| combine(Convention::of(id), &facts, &parts);
        let times = |v: &[f64], by: f64| v.iter().map(|x| x * by).collect::<Vec<f64>>();
        let (a, d, n) = (f64::from(facts.nominal_accumulation), f64::from(facts.replicas), facts.supervised() as f64);
        let (right, means) = (of(ConventionId::TokenWeighted), of(ConventionId::MeanOfMeans));
        prop_assert!(agree(&of(ConventionId::DividedTwice), &times(&means, 1.0 / a)));
        prop_assert!(agree(&of(ConventionId::NeverDivided), &times(&means, a)));
        prop_assert!(agree(&of(ConventionId::Sum), &times(&right, n / d)));
        prop_assert!(agree(&of(ConventionId::ReplicasForgotten), &times(&right, 1.0 / d)));
        prop_assert!(agree(&of(ConventionId::ReplicasAndAccumulationForgotten), &times(&right, 1.0 / d / a)));
        prop_assert!(agree(&of(ConventionId::WeightedThenDividedByA), &times(&right, 1.0 / a)));
    }

    #[test]
    fn no_convention_lets_a_nan_reach_the_gradient((facts, parts) in group(0u64..3)) {
        for convention in TABLE {
            prop_assert!(combine(convention, &facts, &parts).iter().all(|g| g.is_finite()), "{:?}", convention.id);
        }
    }

    #[test]
    fn example_means_weigh_each_example_once(examples in examples()) {
        let rows: Vec<&Example> = examples.iter().collect();
        let batch = PaddedBatch::new(&rows);
        let weights = token_weights(Convention::of(ConventionId::ExampleMean).token_weights, &batch);
        for (row, example) in weights.chunks(batch.width).zip(&examples) {
            let wanted = if example.supervised() > 0 { 1.0 } else { 0.0 };
            prop_assert!((row.iter().sum::<f64>() - wanted).abs() < 1e-12);
        }
        let weights = token_weights(Convention::of(ConventionId::TokenWeighted).token_weights, &batch);
        prop_assert!((weights.iter().sum::<f64>() - batch.supervised() as f64).abs() < 1e-12);
    }
}

#[test]
fn every_convention_has_exactly_one_row() {
    for (id, name) in ConventionId::NAMES {
        assert_eq!(TABLE.iter().filter(|row| row.id == *id).count(), 1, "{name}");
        assert_eq!(Convention::of(*id).id, *id);
    }
    assert_eq!(TABLE.len(), ConventionId::NAMES.len());
    let formulas: BTreeSet<&str> = TABLE.iter().map(|row| row.formula).collect();
    assert_eq!(formulas.len(), TABLE.len(), "no two rows share a formula");
}

#[test]
fn only_one_convention_clears_microbatches_away() {
    // A partial group: replica 1 has no second microbatch.
    let group = facts(&[vec![3, 1], vec![2]]);
    for row in TABLE {
        let kept: Vec<bool> = group.microbatches.iter().map(|k| row.keeps(&group, k)).collect();
        let clears = row.id == ConventionId::ZeroGradEachMicrobatch;
        assert_eq!(kept, [!clears, true, true], "{:?}", row.id);
    }
}
