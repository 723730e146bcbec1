//! Real gradients on replicas: what copies, padding and placement of the exchange do to them, in f64.

use microbatch_lab::batch::{
    Convention, ConventionId, Example, ExampleId, GroupPlan, LastGroup, PaddedBatch, Sharding, Split, TokenWeights,
    oracle::{Accumulation, Contribution, Grads, MlpShape, combine, mlp_gradient, relative_l2, token_weights},
    order::padded_to_replicas,
    plan::{EpochStart, plan_epoch},
};
use proptest::{collection::vec, prelude::*};

use super::support;

const SHAPE: MlpShape = MlpShape {
    batch_norm: false,
    vocab: 5,
    embed: 2,
    hidden: 3,
};
const START: EpochStart = EpochStart {
    epoch: 0,
    first_group: 0,
};

/// Examples of tokens 1 to 4, each position scored, of lengths of their own.
fn examples() -> impl Strategy<Value = Vec<Example>> {
    vec(vec((1u32..5, 1i32..5), 1..6), 4..14).prop_map(|rows| {
        let make = |(id, row): (u32, Vec<(u32, i32)>)| Example {
            id: ExampleId(id),
            tokens: row.iter().map(|(token, _)| *token).collect(),
            labels: row.iter().map(|(_, label)| *label).collect(),
        };
        (0u32..).zip(rows).map(make).collect()
    })
}

fn parameters() -> impl Strategy<Value = Vec<f64>> {
    let count = SHAPE.parameters();
    vec(-1.0..1.0f64, count)
}

fn contributions(examples: &[Example], group: &GroupPlan, parameters: &[f64]) -> Vec<Contribution> {
    let of = |ids: &[ExampleId]| {
        let batch = PaddedBatch::of(examples, ids);
        let weights = token_weights(TokenWeights::Uniform, &batch);
        let (losses, gradient) = mlp_gradient(SHAPE, parameters, &batch.tokens, &batch.labels, &weights);
        Contribution {
            loss_sum: losses.sum,
            gradient,
        }
    };
    group.microbatches.iter().map(|k| of(&k.ids)).collect()
}

/// The reduced gradient of each group of an epoch, weighed by tokens.
fn gradients(
    examples: &[Example],
    order: &[ExampleId],
    split: Split,
    sharding: Sharding,
    parameters: &[f64],
) -> Vec<Vec<f64>> {
    let plan = plan_epoch(examples, order, split, sharding, LastGroup::Process, START);
    let convention = Convention::of(ConventionId::TokenWeighted);
    let reduced = |group: &GroupPlan| combine(convention, &group.facts(), &contributions(examples, group, parameters));
    plan.groups.iter().map(reduced).collect()
}

fn in_order(examples: &[Example]) -> Vec<ExampleId> {
    examples.iter().map(|example| example.id).collect()
}

fn split(m: u32, a: u32, d: u32) -> Split {
    Split::new(m, a, d).expect("no zero")
}

proptest! {
    #![proptest_config(support::config(64))]

    #[test]
    fn identical_data_on_all_replicas_gives_the_gradient_of_one(
        examples in examples(), parameters in parameters(), m in 1u32..4, a in 1u32..4, d in 2u32..5
    ) {
        let order = in_order(&examples);
        let copies = gradients(&examples, &order, split(m, a, d), Sharding::Identical, &parameters);
        let alone = gradients(&examples, &order, split(m, a, 1), Sharding::Interleaved, &parameters);
        prop_assert_eq!(copies.len(), alone.len());
        for (copies, alone) in copies.iter().zip(&alone) {
            prop_assert!(relative_l2(copies, alone) < 1e-13, "{}", relative_l2(copies, alone));
        }
    }

    #[test]
    fn dealt_data_gives_the_gradient_of_one_replica_with_the_same_examples(
        examples in examples(), parameters in parameters(), m in 1u32..4, a in 1u32..4, d in 2u32..5,
        sharding in super::plan::dealt()
    ) {
        let order = in_order(&examples);
        let dealt = gradients(&examples, &order, split(m, a, d), sharding, &parameters);
        let whole = gradients(&examples, &order, split(m * a * d, 1, 1), sharding, &parameters);
        for (dealt, whole) in dealt.iter().zip(&whole) {
            prop_assert!(relative_l2(dealt, whole) < 1e-12, "{}", relative_l2(dealt, whole));
        }
    }

    #[test]
    fn a_padded_example_weighs_like_any_other(examples in examples(), parameters in parameters(), d in 2u32..6) {
        let order = padded_to_replicas(in_order(&examples), d);
        let rows = u32::try_from(order.len()).expect("few");
        let padded = gradients(&examples, &order, split(rows / d, 1, d), Sharding::Interleaved, &parameters);
        // By hand: each example's gradient as often as the sampler named it, over all their tokens.
        let mut sum = vec![0.0; SHAPE.parameters()];
        let mut tokens = 0.0;
        for id in &order {
            let alone = gradients(&examples, &[*id], split(1, 1, 1), Sharding::Interleaved, &parameters);
            let n = examples[id.0 as usize].supervised() as f64;
            for (sum, g) in sum.iter_mut().zip(&alone[0]) {
                *sum += g * n;
            }
            tokens += n;
        }
        let by_hand: Vec<f64> = sum.iter().map(|g| g / tokens).collect();
        prop_assert_eq!(padded.len(), 1);
        prop_assert!(relative_l2(&padded[0], &by_hand) < 1e-12);
    }

    #[test]
    fn accumulating_is_combining(
        examples in examples(), parameters in parameters(), m in 1u32..4, a in 1u32..4, d in 1u32..5
    ) {
        let plan = plan_epoch(&examples, &in_order(&examples), split(m, a, d), Sharding::Blocks, LastGroup::Process, START);
        let convention = Convention::of(ConventionId::MeanOfMeans);
        for group in &plan.groups {
            let (facts, parts) = (group.facts(), contributions(&examples, group, &parameters));
            let weighed: Vec<Vec<f64>> = facts.microbatches.iter().zip(&parts).map(|(k, part)| {
                part.gradient.iter().map(|g| g * convention.coefficient(&facts, k)).collect()
            }).collect();
            let mut grads = Grads::zeros(d as usize, SHAPE.parameters());
            grads.accumulate(Accumulation::default(), &facts, &weighed);
            let combined = combine(convention, &facts, &parts);
            prop_assert_eq!(grads.exchanges, 1);
            for replica in &grads.replicas {
                prop_assert!(relative_l2(replica, &combined) < 1e-12);
            }
        }
    }
}
