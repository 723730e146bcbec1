//! A few updates of the oracle, as a plain loop.

use microbatch_lab::batch::{
    Convention, ConventionId, MicrobatchFacts, TokenWeights,
    oracle::{AdamW, Contribution, Optimizer, Sgd, combine, mlp_gradient, token_weights},
};
use serde_json::Value;

use super::support::golden::{Golden, Group, Network, list, microbatches, number, numbers};

/// Each microbatch's loss sum and its gradient, as `weights` says.
pub(super) fn contributions(
    network: &Network,
    parameters: &[f64],
    group: &Group,
    weights: TokenWeights,
) -> Vec<Contribution> {
    let contribution = |batch| {
        let weights = token_weights(weights, batch);
        let (losses, gradient) = mlp_gradient(network.shape, parameters, &batch.tokens, &batch.labels, &weights);
        Contribution {
            loss_sum: losses.sum,
            gradient,
        }
    };
    group.batches.iter().map(contribution).collect()
}

/// What each microbatch's backward adds to its replica's `.grad`, in the order of work.
pub(super) fn weighted(network: &Network, parameters: &[f64], group: &Group, id: ConventionId) -> Vec<Vec<f64>> {
    let convention = Convention::of(id);
    let parts = contributions(network, parameters, group, convention.token_weights);
    let weigh = |(k, part): (&MicrobatchFacts, &Contribution)| {
        let factor = convention.coefficient(&group.facts, k);
        part.gradient.iter().map(|g| factor * g).collect()
    };
    group.facts.microbatches.iter().zip(&parts).map(weigh).collect()
}

/// Each of `inputs.groups` on one process.
pub(super) fn groups(golden: &Golden) -> Vec<Group> {
    let group = |group| Group::on_one_process(&[microbatches(group)]);
    list(&golden.inputs()["groups"]).iter().map(group).collect()
}

pub(super) fn gradient(network: &Network, parameters: &[f64], group: &Group, convention: ConventionId) -> Vec<f64> {
    let convention = Convention::of(convention);
    combine(
        convention,
        &group.facts,
        &contributions(network, parameters, group, convention.token_weights),
    )
}

/// The gradient of an update and the parameters after it.
pub(super) struct Update {
    pub(super) gradient: Vec<f64>,
    pub(super) parameters: Vec<f64>,
}

/// One update a group.
pub(super) fn train(
    network: &Network,
    groups: &[Group],
    convention: ConventionId,
    optimizer: &mut Optimizer,
    rate: f64,
) -> Vec<Update> {
    let mut parameters = network.parameters.clone();
    groups
        .iter()
        .map(|group| {
            let gradient = gradient(network, &parameters, group, convention);
            optimizer.apply(&mut parameters, &gradient, rate);
            Update {
                gradient,
                parameters: parameters.clone(),
            }
        })
        .collect()
}

/// The optimizer of a golden's settings, and its learning rate.
pub(super) fn optimizer(settings: &Value) -> (Optimizer, f64) {
    let rate = number(&settings["lr"]);
    let betas = settings
        .get("betas")
        .map(numbers)
        .or_else(|| settings.get("b1").map(|b1| vec![number(b1), number(&settings["b2"])]));
    let optimizer = match betas.as_deref() {
        Some(&[beta1, beta2]) => Optimizer::AdamW(AdamW::new(
            beta1,
            beta2,
            number(&settings["eps"]),
            number(&settings["weight_decay"]),
        )),
        _ => Optimizer::Sgd(Sgd::new(settings.get("momentum").map_or(0.0, number))),
    };
    (optimizer, rate)
}
