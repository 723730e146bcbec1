//! Clipping by global norm on the device, the twin of [`crate::batch::clip`]: nothing is read back in between.

use burn::tensor::Tensor;

use crate::batch::clip::EPSILON;

/// `gradient * min(1, max_norm / (seen + 1e-6))`, and `seen`, one number: the norm of `gradient` times `ratio`, which says how much
/// larger than `gradient` the clipped one was (by a loss scale, by A).
pub fn clip(gradient: Tensor<1>, max_norm: f64, ratio: f64) -> (Tensor<1>, Tensor<1>) {
    let norm = gradient.clone().square().sum().sqrt();
    let seen = norm * ratio;
    let coefficient = ((seen.clone() + EPSILON).recip() * max_norm).clamp_max(1.0);
    (gradient * coefficient, seen)
}
