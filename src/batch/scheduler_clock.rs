//! What a loop counts as one step of its learning-rate schedule, and in which unit its horizon was written.

use serde::{Deserialize, Serialize};

use super::schedule::Schedule;

/// When `scheduler.step()` is called. Only [`Self::AppliedUpdate`] is right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchedulerStep {
    /// After each update that changed the parameters.
    #[default]
    AppliedUpdate,
    /// After each attempt, skipped ones too.
    Attempt,
    /// After each microbatch; the last one's after the optimizer.
    Microbatch,
    /// Before the optimizer of each update.
    BeforeUpdate,
}

/// What was done before the update whose rate is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Updates that changed the parameters.
    pub applied: u64,
    /// Updates and skips.
    pub attempts: u64,
    /// Microbatches of one replica, without those of this group.
    pub microbatches: u64,
}

impl SchedulerStep {
    /// How often the scheduler has stepped when the update after `done` reads its rate; `accumulation` is A of its group.
    pub fn steps(self, done: Done, accumulation: u32) -> u64 {
        match self {
            Self::AppliedUpdate => done.applied,
            Self::Attempt => done.attempts,
            Self::Microbatch => done.microbatches + u64::from(accumulation.saturating_sub(1)),
            Self::BeforeUpdate => done.applied + 1,
        }
    }
}

impl Schedule {
    /// The same schedule with warm-up and total written in microbatches of A an update: right only if it is stepped by them.
    #[must_use]
    pub fn in_microbatches(self, accumulation: u32) -> Self {
        let scaled = |updates: u32| updates.saturating_mul(accumulation);
        Self {
            warmup: scaled(self.warmup),
            total: scaled(self.total),
            ..self
        }
    }
}
