//! SGD and AdamW as torch.optim defines them, over one flat parameter vector. Twins of [`crate::batch::oracle::Optimizer`].

use burn::tensor::Tensor;

use super::adamw::{self, Step};
use crate::setup::{Optimizer, types::ADAMW_EPS};

/// One replica's optimizer and what it remembers. Cheap to clone: tensors are shared until written.
#[derive(Clone)]
pub struct OptimizerState {
    rule: Optimizer,
    applied: i32,
    /// SGD's velocity, or AdamW's first moment.
    first: Option<Tensor<1>>,
    /// AdamW's second moment.
    second: Option<Tensor<1>>,
}

impl OptimizerState {
    /// A fresh state.
    pub fn new(rule: Optimizer) -> Self {
        Self {
            rule,
            applied: 0,
            first: None,
            second: None,
        }
    }

    /// The parameters after one update.
    #[must_use]
    pub fn apply(&mut self, parameters: Tensor<1>, gradient: Tensor<1>, rate: f64) -> Tensor<1> {
        self.applied = self.applied.saturating_add(1);
        match self.rule {
            Optimizer::Sgd { momentum } => {
                // torch starts the buffer as a copy of the first gradient, not as zeros.
                let velocity = match self.first.take() {
                    Some(velocity) if momentum != 0.0 => velocity * momentum + gradient,
                    _ => gradient,
                };
                self.first = Some(velocity.clone());
                parameters - velocity * rate
            }
            Optimizer::AdamW {
                beta1,
                beta2,
                weight_decay,
            } => {
                let (c1, c2) = (1.0 - beta1.powi(self.applied), 1.0 - beta2.powi(self.applied));
                let first = decayed(self.first.take(), beta1, gradient.clone(), false);
                let second = decayed(self.second.take(), beta2, gradient, true);
                self.first = Some(first.clone());
                self.second = Some(second.clone());
                let by = Step {
                    keep: 1.0 - rate * weight_decay,
                    size: rate / c1,
                    correction: c2.sqrt(),
                    epsilon: ADAMW_EPS,
                };
                adamw::step(parameters, first, second, by)
            }
        }
    }
}

/// `beta * moment + (1 - beta) * gradient`, or `* gradient^2`, from a moment of zeros on.
fn decayed(moment: Option<Tensor<1>>, beta: f64, gradient: Tensor<1>, squared: bool) -> Tensor<1> {
    let moment = moment.unwrap_or_else(|| gradient.zeros_like());
    adamw::moment(moment, gradient, beta, squared)
}
