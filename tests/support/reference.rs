//! A whole run in plain f64, written as a training loop is: what every device is compared with.

use microbatch_lab::{
    batch::{
        Counters, Example, GroupPlan, PaddedBatch, epoch_order,
        oracle::{AdamW, Optimizer, Sgd, mlp_gradient, transformer_gradient},
        plan::{EpochStart, plan_epoch},
    },
    engine::model::Network,
    protocol::Outcome,
    setup::{self, Setup, types::ADAMW_EPS},
};

#[path = "reference_loop.rs"]
mod reference_loop;

use reference_loop::{Lane, World};

/// An attempt before a group's last.
pub(crate) struct Inner {
    pub(crate) after_index: u32,
    pub(crate) outcome: Outcome,
    pub(crate) gradient_norm: f64,
    pub(crate) clip_norms: Vec<f64>,
    pub(crate) rate: f64,
    pub(crate) scale: Option<f64>,
    pub(crate) counters: Counters,
}

/// One lane's group.
pub(crate) struct Step {
    pub(crate) inner: Vec<Inner>,
    pub(crate) outcome: Outcome,
    pub(crate) loss_sums: Vec<f64>,
    pub(crate) logged_loss: f64,
    pub(crate) gradient_norm: f64,
    pub(crate) clip_norms: Vec<f64>,
    pub(crate) rate: f64,
    pub(crate) scale: Option<f64>,
    /// Those that depend on the loop.
    pub(crate) counters: Counters,
    /// Of every replica.
    pub(crate) parameters: Vec<Vec<f64>>,
}

/// The first `groups` groups of a run, lane by lane.
pub(crate) fn train(
    setup: &Setup,
    examples: &[Example],
    network: &Network,
    start: &[f32],
    groups: usize,
) -> Vec<Vec<Step>> {
    let world = World {
        setup,
        examples,
        network,
    };
    let mut lanes: Vec<Lane> = setup.lanes.iter().map(|rule| Lane::new(setup, *rule, start)).collect();
    let plans = plans(setup, examples, groups);
    plans
        .iter()
        .map(|plan| {
            let step = |lane: &mut Lane| {
                if plan.supervised() > 0 || lane.enters_empty() {
                    lane.group(&world, plan)
                } else {
                    lane.skip(&world, plan)
                }
            };
            lanes.iter_mut().map(step).collect()
        })
        .collect()
}

/// The first `groups` groups, over as many epochs as they take.
pub(crate) fn plans(setup: &Setup, examples: &[Example], groups: usize) -> Vec<GroupPlan> {
    let mut plans: Vec<GroupPlan> = Vec::new();
    for epoch in 0.. {
        if plans.len() >= groups {
            break;
        }
        let order = epoch_order(
            u32::try_from(examples.len()).unwrap(),
            setup.shuffle.then_some(setup.seed),
            epoch,
        );
        let start = EpochStart {
            epoch,
            first_group: plans.len() as u64,
        };
        plans.extend(plan_epoch(examples, &order, setup.split, setup.sharding, setup.last_group, start).groups);
    }
    plans.truncate(groups);
    plans
}

fn optimizer(rule: setup::Optimizer) -> Optimizer {
    match rule {
        setup::Optimizer::Sgd { momentum } => Optimizer::Sgd(Sgd::new(momentum)),
        setup::Optimizer::AdamW {
            beta1,
            beta2,
            weight_decay,
        } => Optimizer::AdamW(AdamW::new(beta1, beta2, ADAMW_EPS, weight_decay)),
    }
}

/// The loss of each position, and the gradient of their weighted sum.
pub(crate) fn gradient(
    network: &Network,
    parameters: &[f64],
    batch: &PaddedBatch,
    weights: &[f64],
) -> (Vec<f64>, Vec<f64>) {
    let (tokens, labels) = (&batch.tokens, &batch.labels);
    let (losses, gradient) = match network {
        Network::TokenMlp(shape) => mlp_gradient(*shape, parameters, tokens, labels, weights),
        Network::Transformer(shape) => transformer_gradient(*shape, parameters, batch.width, tokens, labels, weights),
        Network::Line(_) => panic!("the fixture's own test computes it"),
    };
    (losses.per_token, gradient)
}

fn scale_by(gradient: &mut [f64], factor: f64) {
    for g in gradient {
        *g *= factor;
    }
}

fn add(into: &mut Option<Vec<f64>>, gradient: Vec<f64>) {
    match into {
        Some(sum) => sum.iter_mut().zip(gradient).for_each(|(sum, g)| *sum += g),
        None => *into = Some(gradient),
    }
}
