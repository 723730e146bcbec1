//! The learning rate as a function of the scheduler's steps.

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
    /// Linear warm-up to the peak, then half a cosine down to 0 at the end of the budget.
    CosineWarmupDecay,
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

/// A learning-rate schedule. Its steps are counted in the unit that the setup declares: applied updates, unless it says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// Its shape.
    pub shape: ScheduleShape,
    /// The highest learning rate.
    pub peak: f64,
    /// Steps until the peak is reached.
    pub warmup: u32,
    /// Steps after which the rate is 0.
    pub total: u32,
    /// Where the warm-up starts.
    pub start: WarmupStart,
}

impl Schedule {
    /// The rate after `steps` steps of the scheduler. With s steps done, the multiplier is `(s + 1) / warmup` (or `s / warmup`) while
    /// `s < warmup`; then, with `t = (s - warmup) / (total - warmup)`, `1 - t` (linear) or `(1 + cos(pi t)) / 2` (cosine), never below 0.
    pub fn rate(&self, steps: u64) -> f64 {
        let (warmup, total) = (u64::from(self.warmup), u64::from(self.total));
        let first = match self.start {
            WarmupStart::Zero => 0,
            WarmupStart::FirstStep => 1,
        };
        // The multiplier first, then the peak: torch's LambdaLR rounds in this order.
        let left = || (total.saturating_sub(steps) as f64 / total.saturating_sub(warmup).max(1) as f64).min(1.0);
        let multiplier = match self.shape {
            ScheduleShape::Constant => 1.0,
            _ if steps < warmup => (steps + first) as f64 / warmup as f64,
            ScheduleShape::LinearWarmupDecay => left(),
            // cos(pi t) = -cos(pi (1 - t)), and what is left is 1 - t.
            ScheduleShape::CosineWarmupDecay => f64::midpoint(1.0, -(std::f64::consts::PI * left()).cos()),
        };
        self.peak * multiplier
    }
}
