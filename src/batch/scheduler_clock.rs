//! What a loop counts as one step of its learning-rate schedule, and in which unit its horizon was written.

use serde::{Deserialize, Serialize};

use super::{
    counters::{Counters, Unit},
    schedule::Schedule,
};

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
    /// Before the optimizer of each attempt, which may yet be skipped.
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
            Self::BeforeUpdate => done.attempts + 1,
        }
    }
}

/// What steps a lane's schedule: the unit that the setup declares, or the fault of its loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// What the setup declares.
    pub unit: Unit,
    /// What the loop does instead.
    pub fault: Option<SchedulerStep>,
}

impl Clock {
    /// The scheduler's steps when a group's update reads its rate. `before` are the counts before the group, `microbatches` among
    /// them those of one replica, as a loop counts its own; `accumulation` is A of the group.
    pub fn steps(self, before: &Counters, accumulation: u32) -> u64 {
        let done = Done {
            applied: before.applied_updates,
            attempts: before.update_attempts,
            microbatches: before.microbatches,
        };
        self.fault
            .map_or_else(|| before.get(self.unit), |step| step.steps(done, accumulation))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_follows_the_setup_unless_the_loop_does_not() {
        let before = Counters {
            microbatches: 8,
            update_attempts: 3,
            applied_updates: 2,
            examples: 32,
            supervised_tokens: 100,
            ..Counters::default()
        };
        let steps = |unit, fault| Clock { unit, fault }.steps(&before, 4);
        let units = [
            (Unit::AppliedUpdates, 2),
            (Unit::UpdateAttempts, 3),
            (Unit::Microbatches, 8),
            (Unit::Examples, 32),
            (Unit::SupervisedTokens, 100),
        ];
        for (unit, expected) in units {
            assert_eq!(steps(unit, None), expected);
            assert_eq!(steps(unit, Some(SchedulerStep::Attempt)), 3);
            assert_eq!(steps(unit, Some(SchedulerStep::Microbatch)), 11);
            assert_eq!(steps(unit, Some(SchedulerStep::BeforeUpdate)), 4);
            assert_eq!(steps(unit, Some(SchedulerStep::AppliedUpdate)), 2);
        }
    }
}
