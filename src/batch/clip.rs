//! Clipping by GLOBAL norm, as torch's `clip_grad_norm_` does it: one norm over all parameters together.

use serde::{Deserialize, Serialize};

/// torch's guard against a norm of zero.
pub const EPSILON: f64 = 1e-6;

/// What every gradient is multiplied by: min(1, max_norm / (norm + 1e-6)).
///
/// ```
/// use microbatch_lab::batch::clip::coefficient;
/// assert_eq!(coefficient(0.5, 1.0), 1.0);
/// assert!((coefficient(2.0, 1.0) - 0.5).abs() < 1e-6);
/// ```
pub fn coefficient(norm: f64, max_norm: f64) -> f64 {
    // A norm that is not a number stays one, as in torch; f64::min would hide it.
    let wished = max_norm / (norm + EPSILON);
    if wished > 1.0 { 1.0 } else { wished }
}

/// When a loop clips. Only [`Self::AfterAccumulation`] is right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClipAt {
    /// Once, the reduced gradient of the whole group.
    #[default]
    AfterAccumulation,
    /// What has been accumulated so far, after each microbatch.
    RunningGradient,
    /// Each microbatch's contribution, before it is added.
    EachContribution,
    /// Each microbatch's mean, before these are averaged.
    EachMean,
}

/// Whether gradients are divided by the loss scale before they are clipped. Only [`Self::UnscaleThenClip`] is right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClipOrder {
    /// The norm is that of the true gradient.
    #[default]
    UnscaleThenClip,
    /// The norm is the loss scale times too large, so nearly everything is clipped away.
    ClipThenUnscale,
}

impl ClipOrder {
    /// What a true gradient of `norm` is multiplied by.
    pub fn coefficient(self, norm: f64, max_norm: f64, scale: f64) -> f64 {
        match self {
            Self::UnscaleThenClip => coefficient(norm, max_norm),
            Self::ClipThenUnscale => coefficient(norm * scale, max_norm),
        }
    }

    /// The norm that the clip saw.
    pub fn seen(self, norm: f64, scale: f64) -> f64 {
        match self {
            Self::UnscaleThenClip => norm,
            Self::ClipThenUnscale => norm * scale,
        }
    }
}
