//! A whole run in plain f64: what every device is compared with.

use microbatch_lab::{
    batch::{
        Convention, Example, GroupPlan, LaneRule, PaddedBatch, Pass, epoch_order,
        oracle::{
            AdamW, Contribution, Optimizer, Sgd, combine, mlp_gradient, norm, token_weights, transformer_gradient,
        },
        plan::{EpochStart, plan_epoch},
    },
    engine::model::Network,
    setup::{self, Setup, types::ADAMW_EPS},
};

/// One lane's group.
pub(crate) struct Step {
    pub(crate) loss_sums: Vec<f64>,
    pub(crate) gradient_norm: f64,
    pub(crate) parameters: Vec<f64>,
}

struct Lane {
    convention: &'static Convention,
    parameters: Vec<f64>,
    optimizer: Optimizer,
    applied: u64,
}

/// The first `groups` groups of a run, lane by lane. A group without a supervised token changes nothing and gives no steps.
pub(crate) fn train(
    setup: &Setup,
    examples: &[Example],
    network: &Network,
    start: &[f32],
    groups: usize,
) -> Vec<Vec<Step>> {
    let lane = |rule: &LaneRule| Lane {
        convention: rule.convention(),
        parameters: start.iter().copied().map(f64::from).collect(),
        optimizer: optimizer(setup.optimizer),
        applied: 0,
    };
    let mut lanes: Vec<Lane> = setup.lanes.iter().map(lane).collect();
    let plans = plans(setup, examples, groups);
    plans
        .iter()
        .map(|plan| match plan.supervised() {
            0 => Vec::new(),
            _ => lanes
                .iter_mut()
                .map(|lane| lane.step(setup, examples, network, plan))
                .collect(),
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

impl Lane {
    fn step(&mut self, setup: &Setup, examples: &[Example], network: &Network, plan: &GroupPlan) -> Step {
        let whole = plan.whole(examples);
        let plan = if self.convention.pass == Pass::Whole {
            &whole
        } else {
            plan
        };
        let mut loss_sums = Vec::new();
        let mut contributions = Vec::new();
        for k in &plan.microbatches {
            let batch = PaddedBatch::of(examples, &k.ids);
            let weights = token_weights(self.convention.token_weights, &batch);
            let (losses, gradient) = gradient(network, &self.parameters, &batch, &weights);
            loss_sums.push(losses.iter().sum());
            contributions.push(Contribution {
                loss_sum: 0.0,
                gradient,
            });
        }
        let gradient = combine(self.convention, &plan.facts(), &contributions);
        self.optimizer
            .apply(&mut self.parameters, &gradient, setup.schedule.rate(self.applied));
        self.applied += 1;
        Step {
            loss_sums,
            gradient_norm: norm(&gradient),
            parameters: self.parameters.clone(),
        }
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
