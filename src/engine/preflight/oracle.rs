//! What a right loop under a lane's convention gives its optimizer, in plain f64.

use crate::{
    batch::{
        Convention, GroupPlan, PaddedBatch,
        clip::coefficient,
        oracle::{Contribution, combine, mlp_gradient, norm, token_weights, transformer_gradient},
    },
    engine::model::Network,
    setup::{Precision, Setup},
};

/// Reduced and clipped; `None` where the oracle has no twin of what the setup asks for.
pub(super) fn gradient(
    setup: &Setup,
    network: &Network,
    convention: &Convention,
    plan: &GroupPlan,
    batches: &[PaddedBatch],
    parameters: &[f64],
) -> Option<Vec<f64>> {
    if setup.precision != Precision::F32 || setup.batch_norm.is_some() || setup.dropout.is_some() {
        return None;
    }
    let contributions: Option<Vec<Contribution>> = batches
        .iter()
        .map(|batch| contribution(network, convention, batch, parameters))
        .collect();
    let mut reduced = combine(convention, &plan.facts(), &contributions?);
    if let Some(max) = setup.clip_norm {
        let clip = coefficient(norm(&reduced), max);
        for g in &mut reduced {
            *g *= clip;
        }
    }
    Some(reduced)
}

fn contribution(
    network: &Network,
    convention: &Convention,
    batch: &PaddedBatch,
    parameters: &[f64],
) -> Option<Contribution> {
    let weights = token_weights(convention.token_weights, batch);
    let (tokens, labels) = (&batch.tokens, &batch.labels);
    let (losses, gradient) = match network {
        Network::TokenMlp(shape) => mlp_gradient(*shape, parameters, tokens, labels, &weights),
        Network::Transformer(shape) => transformer_gradient(*shape, parameters, batch.width, tokens, labels, &weights),
        // No setup asks for it.
        Network::Line(_) => return None,
    };
    Some(Contribution {
        loss_sum: losses.sum,
        gradient,
    })
}
