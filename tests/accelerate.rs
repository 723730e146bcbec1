//! Accelerate's published fixture of gradient accumulation: what its documentation shows, the lab computes, by oracle and engine.
//!
//! A Linear layer from 1 to 2 without bias, cross-entropy, SGD 0.08, w = (-0.0075, 0.5364); example i has the inputs 1 to i + 1, each
//! with the label x mod 2; 16 examples, D = 2, m = 4, A = 2, dealt by whole microbatches.
#![cfg(all(not(target_arch = "wasm32"), feature = "engine"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a broken premise must fail its test at once"
)]

use microbatch_lab::{
    batch::{
        Convention, ConventionId, Example, ExampleId, LastGroup, PaddedBatch, Schedule, ScheduleShape, Sharding, Split,
        Unit, epoch_order,
        oracle::{Contribution, combine, token_cross_entropy},
        plan::{EpochStart, plan_epoch},
    },
    engine::{
        Advance, Device, Session,
        model::{LineShape, Network},
    },
    setup::{Budget, Draft, Optimizer, Setup, parse::parse},
};

/// The published numbers have four decimals.
const TOLERANCE: f64 = 5.1e-5;
const START: [f64; 2] = [-0.0075, 0.5364];
const RATE: f64 = 0.08;

struct Published {
    convention: ConventionId,
    weights: [f64; 2],
    loss: f64,
}

const PUBLISHED: [Published; 3] = [
    Published {
        convention: ConventionId::TokenWeighted,
        weights: [0.2117, 0.3172],
        loss: 1.7582,
    },
    Published {
        convention: ConventionId::MeanOfMeans,
        weights: [0.1622, 0.3667],
        loss: 1.4940,
    },
    Published {
        convention: ConventionId::ReplicaTokenMean,
        weights: [0.2042, 0.3247],
        loss: 1.7153,
    },
];

fn examples() -> Vec<Example> {
    let example = |i: u32| Example {
        id: ExampleId(i),
        tokens: (1..=i + 1).collect(),
        labels: (1..=i + 1).map(|x| i32::from(x % 2 == 1)).collect(),
    };
    (0..16).map(example).collect()
}

fn split() -> Split {
    Split::new(4, 2, 2).unwrap()
}

/// S and its gradient, written out for this one layer.
fn contribution(batch: &PaddedBatch) -> Contribution {
    let logits: Vec<f64> = batch
        .tokens
        .iter()
        .flat_map(|&x| START.map(|w| w * f64::from(x)))
        .collect();
    let losses = token_cross_entropy(&logits, &batch.labels, &vec![1.0; batch.labels.len()], 2);
    let mut gradient = vec![0.0; 2];
    for (&x, d) in batch.tokens.iter().zip(losses.d_logits.chunks(2)) {
        gradient.iter_mut().zip(d).for_each(|(g, d)| *g += d * f64::from(x));
    }
    Contribution {
        loss_sum: losses.sum,
        gradient,
    }
}

#[test]
fn the_oracle_computes_what_is_published() {
    let examples = examples();
    let start = EpochStart {
        epoch: 0,
        first_group: 0,
    };
    let order = epoch_order(16, None, 0);
    let epoch = plan_epoch(
        &examples,
        &order,
        split(),
        Sharding::Microbatches,
        LastGroup::Process,
        start,
    );
    let [group] = &epoch.groups[..] else {
        panic!("16 examples are one group")
    };
    let batches = group.microbatches.iter().map(|k| PaddedBatch::of(&examples, &k.ids));
    let contributions: Vec<Contribution> = batches.map(|batch| contribution(&batch)).collect();
    let facts = group.facts();
    for Published {
        convention,
        weights,
        loss,
    } in PUBLISHED
    {
        let row = Convention::of(convention);
        let gradient = combine(row, &facts, &contributions);
        let ours = [0, 1].map(|i| START[i] - RATE * gradient[i]);
        assert_near(&ours, &weights, convention);
        let parts = facts.microbatches.iter().zip(&contributions);
        let total: f64 = parts.map(|(k, c)| row.backpropagated_loss(&facts, k, c.loss_sum)).sum();
        assert_near(&[total / 2.0], &[loss], convention);
    }
}

fn assert_near(ours: &[f64], published: &[f64], convention: ConventionId) {
    for (a, b) in ours.iter().zip(published) {
        assert!(
            (a - b).abs() <= TOLERANCE,
            "{convention:?}: {ours:?} against {published:?}"
        );
    }
}

#[test]
fn the_engine_computes_what_is_published() {
    let setup = Setup {
        split: split(),
        sharding: Sharding::Microbatches,
        shuffle: false,
        optimizer: Optimizer::Sgd { momentum: 0.0 },
        schedule: Schedule {
            shape: ScheduleShape::Constant,
            peak: RATE,
            warmup: 0,
            total: 1,
            start: microbatch_lab::batch::schedule::WarmupStart::default(),
        },
        lanes: PUBLISHED.iter().map(|row| row.convention.into()).collect(),
        budget: Budget {
            unit: Unit::AppliedUpdates,
            amount: 1,
        },
        ..parse(&Draft::default()).unwrap()
    };
    let network = Network::Line(LineShape { outputs: 2 });
    let mut session =
        Session::with_network(&Device::flex(), &setup, examples(), network, vec![-0.0075, 0.5364]).unwrap();
    while !matches!(pollster::block_on(session.advance(false)).unwrap(), Advance::Finished) {}
    let lanes = pollster::block_on(session.parameters()).unwrap();
    assert_eq!(lanes.len(), PUBLISHED.len());
    for (
        ours,
        Published {
            convention, weights, ..
        },
    ) in lanes.iter().zip(PUBLISHED)
    {
        let ours: Vec<f64> = ours.iter().copied().map(f64::from).collect();
        assert_near(&ours, &weights, convention);
    }
}
