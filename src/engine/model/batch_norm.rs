//! Batch normalisation over the positions of one microbatch that hold a token: torch.nn.BatchNorm1d in training, over them alone.
//!
//! It is made of Linear layers and operations on single elements. A sum over rows is a Linear layer of that many inputs, and laying one
//! row over all is a Linear layer of one input; both directions of it run without a reduction, which on WebGPU would wait at barriers.

use burn::tensor::Tensor;

use super::layers::{Layout, affine};
use crate::{batch::oracle::batch_norm::BATCH_NORM_EPS, engine::microbatch::Real};

/// Mean and unbiased variance of each feature, of the microbatch itself. Without autodiff.
#[derive(Clone)]
pub struct BatchStatistics {
    /// By feature.
    pub mean: Tensor<1>,
    /// By feature, divided by one less than the count.
    pub variance: Tensor<1>,
}

/// `(x - mean) / sqrt(variance + eps) * weight + bias`, by feature, with the biased variance. `x` is positions x features, weight and bias
/// have one row. Rows without a token are moved and scaled like the others, and have no part in mean and variance. With fewer than
/// 2 real positions the unbiased variance is not a number; a run refuses that before it computes anything.
pub fn batch_norm(x: Tensor<2>, weight: Tensor<2>, bias: Tensor<2>, real: &Real) -> (Tensor<2>, BatchStatistics) {
    let count = real.count() as f64;
    let (picks, ones) = (real.picks().clone(), real.ones().clone());
    let [_, features] = x.dims();
    let nothing = Tensor::zeros([1, features], &picks.device());
    let over_rows = |x: Tensor<2>| affine(picks.clone(), x, nothing.clone(), Layout::ByInput) / count;
    let on_rows = |row: Tensor<2>| affine(ones.clone(), row, nothing.clone(), Layout::ByInput);

    let mean = over_rows(x.clone());
    let centred = x - on_rows(mean.clone());
    let variance = over_rows(centred.clone().square());
    let statistics = BatchStatistics {
        mean: mean.without_autodiff().reshape([features]),
        variance: variance.clone().without_autodiff().reshape([features]) * (count / (count - 1.0)),
    };
    let scale = weight / (variance + BATCH_NORM_EPS).sqrt();
    (centred * on_rows(scale) + on_rows(bias), statistics)
}
