//! The learning rate as a function of applied updates.

use serde::{Deserialize, Serialize};

/// The shape after the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleShape {
    /// The peak rate throughout; no warm-up either.
    #[default]
    Constant,
    /// Linear warm-up to the peak, then linear decay to 0 at the end of the budget.
    LinearWarmupDecay,
}

/// Whether a warm-up's first rate is 0, as `LambdaLR` with `s / warmup` has it, or its first fraction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarmupStart {
    /// `s / warmup`: the first update of all changes nothing.
    Zero,
    /// `(s + 1) / warmup`.
    #[default]
    FirstStep,
}

/// A learning-rate schedule, stepped once per applied update.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// Its shape.
    pub shape: ScheduleShape,
    /// The highest learning rate.
    pub peak: f64,
    /// Applied updates until the peak is reached.
    pub warmup: u32,
    /// Applied updates after which the rate is 0.
    pub total: u32,
}

impl Schedule {
    /// The rate for the update that follows `applied` applied updates: the multiplier is
    /// `(applied + 1) / warmup` while `applied < warmup`, then `(total - applied) / (total - warmup)`, never below 0.
    pub fn rate(&self, applied: u64) -> f64 {
        self.rate_from(WarmupStart::FirstStep, applied)
    }

    /// The rate after `steps` steps of the scheduler, with the warm-up's start chosen.
    pub fn rate_from(&self, start: WarmupStart, steps: u64) -> f64 {
        let (warmup, total) = (u64::from(self.warmup), u64::from(self.total));
        let first = match start {
            WarmupStart::Zero => 0,
            WarmupStart::FirstStep => 1,
        };
        // The multiplier first, then the peak: torch's LambdaLR rounds in this order.
        let multiplier = match self.shape {
            ScheduleShape::Constant => 1.0,
            ScheduleShape::LinearWarmupDecay if steps < warmup => (steps + first) as f64 / warmup as f64,
            ScheduleShape::LinearWarmupDecay => {
                let left = total.saturating_sub(steps) as f64;
                (left / total.saturating_sub(warmup).max(1) as f64).min(1.0)
            }
        };
        self.peak * multiplier
    }
}
