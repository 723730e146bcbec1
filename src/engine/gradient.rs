//! g_k: the gradient of one microbatch's loss, as one flat vector.

use burn::tensor::{Gradients, Tensor};

use super::{
    loss::{loss, mean_of_nothing},
    microbatch::Microbatch,
    model::Network,
};
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
        let leaves = leaves(network, parameters);
        let logits = network.logits(leaves.clone(), &microbatch.inputs);
        let loss = loss(logits, microbatch, weights);
        Self {
            loss_sum: loss.sum,
            objective: loss.objective,
            leaves,
        }
    }

    /// The forward of a microbatch without any supervised token, its mean written by hand: every position enters, weighted by 0 / 0, which
    /// the device computes.
    pub fn of_nothing(network: &Network, parameters: &Tensor<1>, microbatch: &Microbatch) -> Self {
        let leaves = leaves(network, parameters);
        let logits = network.logits(leaves.clone(), &microbatch.inputs);
        let loss = mean_of_nothing(logits, microbatch);
        Self {
            loss_sum: loss.sum,
            objective: loss.objective,
            leaves,
        }
    }

    /// The loss sum as the convention weighs its tokens: the number that is back-propagated, before any factor.
    pub fn weighted_sum(&self) -> Tensor<1> {
        self.objective.clone().without_autodiff()
    }

    /// The gradient of the weighted loss sum with respect to all parameters, flat, in their order.
    pub fn backward(self) -> Tensor<1> {
        let mut gradients = self.objective.backward();
        flat(self.leaves, &mut gradients)
    }

    /// One backward of `sum factor x loss` over forwards at the same parameters: the factors enter before it, as they do in a loop that
    /// multiplies its loss. `None` without a forward.
    pub fn backward_together(forwards: Vec<(Self, f64)>) -> Option<Tensor<1>> {
        let mut all_leaves = Vec::new();
        let objectives = forwards.into_iter().map(|(forward, factor)| {
            all_leaves.push(forward.leaves);
            forward.objective * factor
        });
        let mut gradients = objectives.reduce(|a, b| a + b)?.backward();
        let each = all_leaves.into_iter().map(|leaves| flat(leaves, &mut gradients));
        each.reduce(|a, b| a + b)
    }
}

/// The parameters as the tensors of the network, each a leaf of a graph.
fn leaves(network: &Network, parameters: &Tensor<1>) -> Vec<Tensor<2>> {
    let cut = network.ranges().into_iter().zip(network.tensors());
    cut.map(|(range, (rows, columns))| {
        parameters
            .clone()
            .slice([range])
            .reshape([rows, columns])
            .autodiff()
            .require_grad()
    })
    .collect()
}

fn flat(leaves: Vec<Tensor<2>>, gradients: &mut Gradients) -> Tensor<1> {
    let flat = leaves.into_iter().map(|leaf| {
        let [rows, columns] = leaf.dims();
        match leaf.grad_remove(gradients) {
            Some(gradient) => gradient.reshape([rows * columns]),
            // A tensor that the loss does not depend on.
            None => Tensor::zeros([rows * columns], &leaf.device().without_autodiff()),
        }
    });
    Tensor::cat(flat.collect(), 0)
}
