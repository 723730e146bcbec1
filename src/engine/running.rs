//! BatchNorm's running statistics on one replica, which follow the microbatches that it has seen, as torch.nn.BatchNorm1d has it.

use burn::tensor::Tensor;

use super::{Device, model::batch_norm::BatchStatistics};
use crate::batch::oracle::Momentum;

/// Mean 0 and variance 1 before the first microbatch.
#[derive(Clone)]
pub struct Running {
    momentum: Momentum,
    batches: u64,
    mean: Tensor<1>,
    variance: Tensor<1>,
}

impl Running {
    /// Before the first microbatch. `device` carries no autodiff.
    pub fn new(momentum: Momentum, features: usize, device: &Device) -> Self {
        Self {
            momentum,
            batches: 0,
            mean: Tensor::zeros([features], device),
            variance: Tensor::ones([features], device),
        }
    }

    /// `running += share * (batch - running)`, where the share is the momentum, or 1 / the number of this microbatch.
    pub fn follow(&mut self, batch: &BatchStatistics) {
        self.batches += 1;
        let share = match self.momentum {
            Momentum::Fixed(momentum) => momentum,
            Momentum::Cumulative => 1.0 / self.batches as f64,
        };
        let moved =
            |running: &Tensor<1>, batch: &Tensor<1>| running.clone() + (batch.clone() - running.clone()) * share;
        self.mean = moved(&self.mean, &batch.mean);
        self.variance = moved(&self.variance, &batch.variance);
    }

    /// Microbatches seen.
    pub fn batches(&self) -> u64 {
        self.batches
    }

    /// By feature.
    pub fn mean(&self) -> &Tensor<1> {
        &self.mean
    }

    /// By feature; follows unbiased variances.
    pub fn variance(&self) -> &Tensor<1> {
        &self.variance
    }
}
