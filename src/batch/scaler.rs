//! Dynamic loss scaling, as torch.amp.GradScaler does it: one check, one step and one update of the scale a group.

use serde::{Deserialize, Serialize};

/// How a scale moves. torch's defaults are 65536, 2, 0.5 and 2000.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalerConfig {
    /// The first scale.
    pub init_scale: f32,
    /// What it is multiplied by after enough finite attempts in a row.
    pub growth_factor: f64,
    /// What it is multiplied by after an attempt that was not finite.
    pub backoff_factor: f64,
    /// How many finite attempts in a row are enough.
    pub growth_interval: u32,
}

/// What has been asked of the scaler since its last update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Gradients are scaled.
    Scaled,
    /// Gradients were unscaled and checked.
    Checked {
        /// Whether every one was finite.
        finite: bool,
    },
    /// The optimizer was asked.
    Stepped {
        /// Whether every gradient was finite.
        finite: bool,
    },
}

/// Whether an attempt changes the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Attempt {
    Apply,
    Skip,
}

/// Calls in an order that torch refuses, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum ScalerError {
    /// The gradients would be divided by the scale twice.
    #[error("the gradients were already unscaled since the last update of the scale")]
    AlreadyUnscaled,
    /// The optimizer was already asked.
    #[error("the optimizer already stepped since the last update of the scale")]
    AlreadyStepped,
    /// Nobody looked whether the gradients are finite.
    #[error("no check for non-finite gradients was made since the last update of the scale")]
    NotChecked,
}

/// The scale and its history. The scale is an f32, as torch holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaler {
    config: ScalerConfig,
    scale: f32,
    growth_tracker: u32,
    stage: Stage,
}

impl Scaler {
    /// At its first scale.
    pub fn new(config: ScalerConfig) -> Self {
        Self {
            config,
            scale: config.init_scale,
            growth_tracker: 0,
            stage: Stage::Scaled,
        }
    }

    /// What each loss of this group is multiplied by.
    pub fn scale(&self) -> f64 {
        f64::from(self.scale)
    }

    /// Finite attempts in a row since the scale last moved.
    pub fn growth_tracker(&self) -> u32 {
        self.growth_tracker
    }

    /// Takes the finite check of this group's gradients; gives what they are multiplied by.
    pub fn unscale(&mut self, finite: bool) -> Result<f64, ScalerError> {
        match self.stage {
            Stage::Scaled => {
                self.stage = Stage::Checked { finite };
                Ok(1.0 / self.scale())
            }
            Stage::Checked { .. } => Err(ScalerError::AlreadyUnscaled),
            Stage::Stepped { .. } => Err(ScalerError::AlreadyStepped),
        }
    }

    /// Whether the optimizer steps: the whole attempt is skipped where any gradient is not finite.
    pub fn step(&mut self) -> Result<Attempt, ScalerError> {
        match self.stage {
            Stage::Scaled => Err(ScalerError::NotChecked),
            Stage::Checked { finite } => {
                self.stage = Stage::Stepped { finite };
                Ok(if finite { Attempt::Apply } else { Attempt::Skip })
            }
            Stage::Stepped { .. } => Err(ScalerError::AlreadyStepped),
        }
    }

    /// Moves the scale, once a group. A growth past the largest f32 is left out.
    pub fn update(&mut self) -> Result<(), ScalerError> {
        let finite = match self.stage {
            Stage::Scaled => return Err(ScalerError::NotChecked),
            Stage::Checked { finite } | Stage::Stepped { finite } => finite,
        };
        self.stage = Stage::Scaled;
        if !finite {
            self.scale = self.times(self.config.backoff_factor);
            self.growth_tracker = 0;
            return Ok(());
        }
        self.growth_tracker += 1;
        if self.growth_tracker == self.config.growth_interval {
            let grown = self.times(self.config.growth_factor);
            if grown.is_finite() {
                self.scale = grown;
            }
            self.growth_tracker = 0;
        }
        Ok(())
    }

    /// What a loop asks at the end of a group: unscale, step, update. `unscales` is how often it divides by the scale. Where it is
    /// refused, the scale stays as it was.
    pub fn attempt(&mut self, finite: bool, unscales: u32) -> Result<Attempt, ScalerError> {
        let mut asked = self.clone();
        for _ in 0..unscales.max(1) {
            asked.unscale(finite)?;
        }
        let attempt = asked.step()?;
        asked.update()?;
        *self = asked;
        Ok(attempt)
    }

    /// Why [`Self::attempt`] would be refused, whatever the gradient is; `gradients` says whether any parameter has one at all. Where
    /// every `.grad` is `None`, there was nothing to check.
    pub fn refusal(&self, unscales: u32, gradients: bool) -> Option<ScalerError> {
        let refused = self.clone().attempt(true, unscales).err();
        refused.or((!gradients).then_some(ScalerError::NotChecked))
    }

    /// What the scale is multiplied by to grow.
    pub fn growth_factor(&self) -> f64 {
        self.config.growth_factor
    }

    fn times(&self, factor: f64) -> f32 {
        #[expect(clippy::cast_possible_truncation, reason = "torch rounds the scale to f32")]
        let scale = (self.scale() * factor) as f32;
        scale
    }
}

/// What is done to the scale inside a group. Only [`Self::Held`] is right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScaleInGroup {
    /// One scale for all microbatches, divided out once at the end.
    #[default]
    Held,
    /// The scale grows after the first microbatch; the end divides by the new one.
    GrownAfterFirst,
    /// The gradient is divided after the first microbatch and never again.
    UnscaledAfterFirst,
}

impl ScaleInGroup {
    /// What the loss of microbatch `index` (from 0) is multiplied by, in a group that began with `scale`.
    pub fn of_loss(self, index: u32, scale: f64, growth_factor: f64) -> f64 {
        match self {
            Self::GrownAfterFirst if index > 0 => scale * growth_factor,
            _ => scale,
        }
    }

    /// What `.grad` is divided by as soon as microbatch `index` is accumulated, inside the group; `None` for not at all.
    pub fn divided_after(self, index: u32, scale: f64) -> Option<f64> {
        (self == Self::UnscaledAfterFirst && index == 0).then_some(scale)
    }

    /// What `.grad` is divided by at the end of the group.
    pub fn divided_at_end(self, scale: f64, growth_factor: f64) -> f64 {
        match self {
            Self::Held => scale,
            Self::GrownAfterFirst => scale * growth_factor,
            Self::UnscaledAfterFirst => 1.0,
        }
    }

    /// What remains as a factor of the gradient of microbatch `index` (from 0) once the group's gradient counts as unscaled.
    pub fn remaining(self, index: u32, scale: f64, growth_factor: f64) -> f64 {
        match self {
            Self::GrownAfterFirst if index == 0 => 1.0 / growth_factor,
            Self::UnscaledAfterFirst if index > 0 => scale,
            _ => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_remains_is_what_was_multiplied_over_what_was_divided() {
        let (scale, growth) = (8.0, 2.0);
        for way in [
            ScaleInGroup::Held,
            ScaleInGroup::GrownAfterFirst,
            ScaleInGroup::UnscaledAfterFirst,
        ] {
            for index in 0..3 {
                // A division inside the group reaches what was accumulated until then.
                let inside: f64 = (index..3).filter_map(|at| way.divided_after(at, scale)).product();
                let left = way.of_loss(index, scale, growth) / inside / way.divided_at_end(scale, growth);
                let expected = way.remaining(index, scale, growth);
                assert!((left - expected).abs() < 1e-15, "{way:?} {index}: {left} {expected}");
            }
        }
    }

    #[test]
    fn no_gradient_is_no_check() {
        let scaler = Scaler::new(ScalerConfig {
            init_scale: 4.0,
            growth_factor: 2.0,
            backoff_factor: 0.5,
            growth_interval: 1,
        });
        assert_eq!(scaler.refusal(1, true), None);
        assert_eq!(scaler.refusal(1, false), Some(ScalerError::NotChecked));
        // torch finds the second unscale first.
        assert_eq!(scaler.refusal(2, false), Some(ScalerError::AlreadyUnscaled));
        assert_eq!(scaler.refusal(2, true), Some(ScalerError::AlreadyUnscaled));
    }

    #[test]
    fn a_refused_attempt_leaves_the_scale_alone() {
        let mut scaler = Scaler::new(ScalerConfig {
            init_scale: 4.0,
            growth_factor: 2.0,
            backoff_factor: 0.5,
            growth_interval: 1,
        });
        let before = scaler.clone();
        assert_eq!(scaler.attempt(true, 2), Err(ScalerError::AlreadyUnscaled));
        assert_eq!(scaler, before);
        assert_eq!(scaler.attempt(true, 1), Ok(Attempt::Apply));
        assert_eq!(scaler.scale().to_bits(), 8.0f64.to_bits());
        assert_eq!(scaler.attempt(false, 1), Ok(Attempt::Skip));
        assert_eq!(scaler.scale().to_bits(), 4.0f64.to_bits());
    }
}
