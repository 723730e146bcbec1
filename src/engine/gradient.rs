//! g_k: the gradient of one microbatch's loss, as one flat vector.

use burn::tensor::Tensor;

use super::{loss::loss, microbatch::Microbatch, model::Network};
use crate::batch::TokenWeights;

/// A forward that waits for its backward.
pub struct Forward {
    /// S, the plain loss sum.
    pub loss_sum: Tensor<1>,
    objective: Tensor<1>,
    leaves: Vec<Tensor<2>>,
}

impl Forward {
    /// The forward of `microbatch` at `parameters`, a flat vector without autodiff.
    pub fn new(network: &Network, parameters: &Tensor<1>, microbatch: &Microbatch, weights: TokenWeights) -> Self {
        let leaves: Vec<Tensor<2>> = network
            .ranges()
            .into_iter()
            .zip(network.tensors())
            .map(|(range, (rows, columns))| {
                parameters
                    .clone()
                    .slice([range])
                    .reshape([rows, columns])
                    .autodiff()
                    .require_grad()
            })
            .collect();
        let logits = network.logits(leaves.clone(), &microbatch.inputs);
        let loss = loss(logits, microbatch, weights);
        Self {
            loss_sum: loss.sum,
            objective: loss.objective,
            leaves,
        }
    }

    /// The sum that is sent back: S, or that of the weighted losses.
    pub fn weighted_sum(&self) -> Tensor<1> {
        self.objective.clone().without_autodiff()
    }

    /// The gradient of the weighted loss sum with respect to all parameters, flat, in their order.
    pub fn backward(self) -> Tensor<1> {
        let mut gradients = self.objective.backward();
        let flat = self.leaves.into_iter().map(|leaf| {
            let [rows, columns] = leaf.dims();
            match leaf.grad_remove(&mut gradients) {
                Some(gradient) => gradient.reshape([rows * columns]),
                // A tensor that the loss does not depend on.
                None => Tensor::zeros([rows * columns], &leaf.device().without_autodiff()),
            }
        });
        Tensor::cat(flat.collect(), 0)
    }
}
