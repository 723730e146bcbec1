//! g_k: the gradient of one microbatch's loss, as one flat vector.

use burn::tensor::{Gradients, Tensor};

use super::program::Recorded;
use super::{
    loss::{Loss, loss, mean_of_nothing},
    microbatch::Microbatch,
    model::{Mode, Network},
};
use crate::batch::TokenWeights;

/// A forward that waits for its backward.
pub struct Forward {
    /// S, the plain loss sum.
    pub loss_sum: Tensor<1>,
    way: Way,
}

/// How the backward will be done.
enum Way {
    /// By autodiff, over the network in burn's operations.
    Graph {
        objective: Box<Tensor<1>>,
        leaves: Vec<Tensor<2>>,
    },
    /// By the network's list.
    Program(Box<Recorded>),
}

impl Forward {
    /// The forward of `microbatch` at `parameters`, a flat vector without autodiff. `mode` is that of this forward.
    pub fn new(
        network: &Network,
        parameters: &Tensor<1>,
        microbatch: &Microbatch,
        weights: TokenWeights,
        mode: &mut Mode,
    ) -> Self {
        if let Some(workspace) = mode.workspace()
            && let Some(recorded) = Recorded::forward(network, parameters, microbatch, weights, workspace)
        {
            return Self {
                loss_sum: recorded.loss_sum(),
                way: Way::Program(Box::new(recorded)),
            };
        }
        Self::by_graph(network, parameters, microbatch, weights, mode)
    }

    /// The same by autodiff, whatever the device has of its own.
    pub fn by_graph(
        network: &Network,
        parameters: &Tensor<1>,
        microbatch: &Microbatch,
        weights: TokenWeights,
        mode: &mut Mode,
    ) -> Self {
        let leaves = leaves(network, parameters);
        let logits = network.logits(leaves.clone(), &microbatch.inputs, mode);
        Self::of_graph(loss(logits, microbatch, weights), leaves)
    }

    fn of_graph(loss: Loss, leaves: Vec<Tensor<2>>) -> Self {
        Self {
            loss_sum: loss.sum,
            way: Way::Graph {
                objective: Box::new(loss.objective),
                leaves,
            },
        }
    }

    /// The forward of a microbatch without any supervised token, its mean written by hand: every position enters, weighted by 0 / 0, which
    /// the device computes.
    pub fn of_nothing(network: &Network, parameters: &Tensor<1>, microbatch: &Microbatch, mode: &mut Mode) -> Self {
        let leaves = leaves(network, parameters);
        let logits = network.logits(leaves.clone(), &microbatch.inputs, mode);
        Self::of_graph(mean_of_nothing(logits, microbatch), leaves)
    }

    /// Whether its backward is the network's list, and not autodiff.
    pub fn has_list(&self) -> bool {
        !matches!(self.way, Way::Graph { .. })
    }

    /// The loss sum as the convention weighs its tokens: the number that is back-propagated, before any factor.
    pub fn weighted_sum(&self) -> Tensor<1> {
        match &self.way {
            Way::Graph { objective, .. } => objective.as_ref().clone().without_autodiff(),
            Way::Program(recorded) => recorded.weighted_sum(),
        }
    }

    /// The gradient of the weighted loss sum with respect to all parameters, flat, in their order.
    pub fn backward(self) -> Tensor<1> {
        self.add_to(None, 1.0)
    }

    /// `into + factor x gradient`; the product alone without anything to add to.
    pub fn add_to(self, into: Option<Tensor<1>>, factor: f64) -> Tensor<1> {
        match self.way {
            Way::Graph { objective, leaves } => {
                let mut gradients = objective.backward();
                let gradient = flat(leaves, &mut gradients);
                // A factor of 1 would be a launch for nothing.
                let share = if factor.to_bits() == 1.0f64.to_bits() {
                    gradient
                } else {
                    gradient * factor
                };
                match into {
                    Some(into) => into + share,
                    None => share,
                }
            }
            Way::Program(recorded) => recorded.backward(into, factor),
        }
    }

    /// One backward of `sum factor x loss` over forwards at the same parameters: the factors enter before it, as they do in a loop that
    /// multiplies its loss. `None` without a forward.
    pub fn backward_together(forwards: Vec<(Self, f64)>) -> Option<Tensor<1>> {
        let mut sum: Option<Tensor<1>> = None;
        let mut all_leaves = Vec::new();
        let mut objectives: Option<Tensor<1>> = None;
        for (forward, factor) in forwards {
            match forward.way {
                Way::Graph { objective, leaves } => {
                    all_leaves.push(leaves);
                    let objective = *objective * factor;
                    objectives = Some(match objectives {
                        Some(others) => others + objective,
                        None => objective,
                    });
                }
                // Its backward is linear: short of an overflow in between, a factor before it is one after it.
                Way::Program(recorded) => sum = Some(recorded.backward(sum, factor)),
            }
        }
        let Some(objectives) = objectives else { return sum };
        let mut gradients = objectives.backward();
        let each = all_leaves.into_iter().map(|leaves| flat(leaves, &mut gradients));
        each.chain(sum).reduce(|a, b| a + b)
    }
}

/// A forward for the sake of what it leaves in `mode`: no loss, and no backward.
pub fn look(network: &Network, parameters: &Tensor<1>, microbatch: &Microbatch, mode: &mut Mode) {
    let cut = network.ranges().into_iter().zip(network.tensors());
    let tensors = cut.map(|(range, (rows, columns))| parameters.clone().slice([range]).reshape([rows, columns]));
    network.logits(tensors.collect(), &microbatch.inputs, mode);
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
