//! Masked token cross-entropy: the loss of every position, summed, and how many positions were scored.

use burn::tensor::{Tensor, activation};

use super::microbatch::{Microbatch, Targets};
use crate::batch::TokenWeights;

/// The loss of one microbatch, still on the device. Both are pairs: a sum, and the count of scored positions.
pub struct Loss {
    /// S: the sum over scored positions, for the report.
    pub sum: Tensor<1>,
    /// What is sent back: S, or each position weighted as the convention says. The count has no slope, so that the gradient of the pair
    /// is that of the sum.
    pub objective: Tensor<1>,
}

/// The loss of `logits`, positions x vocabulary.
pub fn loss(logits: Tensor<2>, microbatch: &Microbatch, weights: TokenWeights) -> Loss {
    let targets = &microbatch.targets;
    match weights {
        TokenWeights::Uniform => {
            let objective = totals(logits, targets, targets.scored().clone());
            Loss {
                sum: objective.clone().without_autodiff(),
                objective,
            }
        }
        TokenWeights::ExampleMean => Loss {
            sum: totals(logits.clone().without_autodiff(), targets, targets.scored().clone()),
            objective: totals(logits, targets, microbatch.weights(weights)),
        },
    }
}

/// `(loss * mask).sum() / mask.sum()` where the mask is empty: the weight of every position is 0 / 0. The sum stays 0.
pub fn mean_of_nothing(logits: Tensor<2>, microbatch: &Microbatch) -> Loss {
    let targets = &microbatch.targets;
    let weights = targets.scored().clone() / targets.scored().clone().sum();
    Loss {
        sum: totals(logits.clone().without_autodiff(), targets, targets.scored().clone()),
        objective: totals(logits, targets, weights),
    }
}

/// `[sum of weight x loss, count of scored positions]`: the kernel where there is one, its twin elsewhere.
fn totals(logits: Tensor<2>, targets: &Targets, weights: Tensor<1>) -> Tensor<1> {
    #[cfg(feature = "gpu")]
    if super::kernels::run_on(&logits.device()) {
        return super::kernels::token_loss::totals(logits, targets, weights);
    }
    reference(logits, targets, weights)
}

/// The kernel's twin in stock operations: `loss[t] = logsumexp(logits[t]) - logits[t][label[t]]`. Positions that are not scored hold
/// the loss of label 0, weighted by 0.
pub fn reference(logits: Tensor<2>, targets: &Targets, weights: Tensor<1>) -> Tensor<1> {
    let labels = targets.labels().clone().unsqueeze_dim::<2>(1);
    let per_token = -activation::log_softmax(logits, 1).gather(1, labels).squeeze_dim::<1>(1);
    Tensor::cat(vec![(per_token * weights).sum(), targets.scored().clone().sum()], 0)
}
