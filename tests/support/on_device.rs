//! A golden's gradient on the engine's own way: lane, replicas, coefficients, reduction.

use burn::tensor::{Tensor, TensorData};
use microbatch_lab::{
    batch::{Convention, GroupPlan, MicrobatchPlan, Schedule, ScheduleShape},
    engine::{
        Device,
        lane::Lane,
        microbatch::Microbatch,
        model::Network,
        readback::{Readback, Values},
    },
    setup::Optimizer,
};

use super::golden::{self, Group};

/// The reduced gradient and the loss sum of each microbatch, from the engine.
pub(crate) async fn gradient(
    device: &Device,
    network: &golden::Network,
    convention: &'static Convention,
    group: &Group,
) -> (Vec<f64>, Vec<f64>) {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the goldens' float32 is their float64, rounded"
    )]
    let start: Vec<f32> = network.parameters.iter().map(|&x| x as f32).collect();
    let length = start.len();
    let start = Tensor::<1>::from_data(TensorData::new(start, [length]), device);
    let schedule = Schedule {
        shape: ScheduleShape::Constant,
        peak: 0.1,
        warmup: 0,
        total: 1,
        start: microbatch_lab::batch::schedule::WarmupStart::default(),
    };
    let rule = Optimizer::Sgd { momentum: 0.0 };
    let network = Network::TokenMlp(network.shape);
    let mut lane = Lane::new(convention, network, &start, group.facts.replicas, rule, schedule);
    let microbatches: Vec<Microbatch> = group
        .batches
        .iter()
        .map(|b| Microbatch::new(device, b.clone()))
        .collect();
    let reduced = lane.gradient_of(&plan(group), &microbatches);
    let mut readback = Readback::default();
    let gradient = readback.add(&reduced.gradient);
    let sums: Vec<_> = reduced
        .sums
        .iter()
        .map(|sum| sum.as_ref().map(|sum| readback.add(sum)))
        .collect();
    let values: Values = readback.read().await.expect("read");
    let gradient = values.of(gradient).iter().copied().map(f64::from).collect();
    (
        gradient,
        sums.into_iter()
            .map(|slot| slot.map_or(0.0, |slot| values.one(slot)))
            .collect(),
    )
}

fn plan(group: &Group) -> GroupPlan {
    let microbatches = group.facts.microbatches.iter().zip(&group.batches);
    let microbatches = microbatches.map(|(facts, batch)| MicrobatchPlan {
        ids: batch.ids.clone(),
        facts: *facts,
        padded: 0,
    });
    GroupPlan {
        number: 0,
        epoch: 0,
        partial: false,
        replicas: group.facts.replicas,
        nominal_accumulation: group.facts.nominal_accumulation,
        microbatches: microbatches.collect(),
    }
}
