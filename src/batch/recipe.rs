//! How a lane goes through a group and its update: everything but how losses are weighed, which is its [`super::Convention`].

use serde::{Deserialize, Serialize};

use super::{
    Convention,
    clip::{ClipAt, ClipOrder},
    empty_mean::EmptyMean,
    fault::Faults,
    no_sync::SyncMode,
    scaler::ScaleInGroup,
    scheduler_clock::SchedulerStep,
    zero_grad::ZeroGrad,
};

/// When the optimizer steps. Only [`Self::Group`] is right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptimizerStep {
    /// Once, after the last contribution of the group.
    #[default]
    Group,
    /// After each microbatch (on every replica): A updates where one was meant.
    EachMicrobatch,
    /// After each microbatch, at parameters that stand still: what A updates would have moved is summed and done at the end of the group, as
    /// `optax.apply_every` does.
    MovesSummed,
}

impl OptimizerStep {
    /// Whether the optimizer steps inside a group.
    pub fn inside(self) -> bool {
        self != Self::Group
    }
}

/// What a loop does with a group that has no supervised token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmptyGroup {
    /// Nothing: it is no update.
    #[default]
    Skipped,
    /// It steps with the zeros that `zero_grad(set_to_none=False)` left: momentum and decay move the parameters.
    SteppedWithZeros,
}

/// How often a loop divides the gradient by the loss scale. torch refuses the second time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unscale {
    /// Once a group.
    #[default]
    Once,
    /// After each microbatch.
    Twice,
}

/// What a loop writes into its log as the group's loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Logged {
    /// What was back-propagated, averaged over replicas.
    #[default]
    Trained,
    /// That, divided by A once more, in the log only.
    DividedTwice,
    /// The mean of the last microbatch, already divided by A, times A.
    LastTimesA,
}

/// What becomes of each microbatch's graph. Only [`Self::Freed`] is right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Graph {
    /// Gone after its backward.
    #[default]
    Freed,
    /// Kept alive with its loss (`total_loss += loss`).
    Retained,
}

/// What a lane does with a last partial group that the Setup processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tail {
    /// An update of its own.
    #[default]
    Processed,
    /// Nothing: its examples are lost.
    Dropped,
    /// Forwards and backwards, but no update: its gradients stay in `.grad` until the next epoch's first update.
    Carried,
}

/// In which unit warm-up and total of the schedule were written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Horizon {
    /// In that of the setup.
    #[default]
    AsSet,
    /// In microbatches: A times as long.
    Microbatches,
}

/// One loop, its faults included. The default is right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each is described by its type")]
pub struct Recipe {
    pub zero_grad: ZeroGrad,
    pub step: OptimizerStep,
    pub sync: SyncMode,
    pub clip_at: ClipAt,
    pub clip_order: ClipOrder,
    pub scale_in_group: ScaleInGroup,
    pub unscale: Unscale,
    /// `None` where the Setup's unit is followed.
    pub scheduler_step: Option<SchedulerStep>,
    pub horizon: Horizon,
    pub empty_mean: EmptyMean,
    pub empty_group: EmptyGroup,
    pub logged: Logged,
    pub graph: Graph,
    pub tail: Tail,
}

impl Recipe {
    /// Whether the loop goes through a group of `convention` that has no supervised token. Any other knows beforehand that nothing would
    /// come of it.
    pub fn enters_empty_group(&self, convention: &Convention) -> bool {
        self.empty_group == EmptyGroup::SteppedWithZeros
            || (self.empty_mean.enters_ignored() && convention.divides_by_a_part())
    }

    /// The right loop with these faults in it.
    pub fn with(faults: Faults) -> Self {
        faults.rows().fold(Self::default(), |mut recipe, row| {
            (row.apply)(&mut recipe);
            recipe
        })
    }

    /// Whether replicas exchange gradients after microbatch `index` (from 0) of `accumulation`. To a loop that steps after each, every
    /// microbatch is the only one of its group.
    pub fn exchanges_after(&self, index: u32, accumulation: u32) -> bool {
        if self.step.inside() {
            self.sync.reduces(0, 1)
        } else {
            self.sync.reduces(index, accumulation)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::ConventionId;

    #[test]
    fn an_empty_group_is_entered_where_something_comes_of_it() {
        let enters = |empty_group, empty_mean, id| {
            let recipe = Recipe {
                empty_mean,
                empty_group,
                ..Recipe::default()
            };
            recipe.enters_empty_group(Convention::of(id))
        };
        let (skipped, stepped) = (EmptyGroup::Skipped, EmptyGroup::SteppedWithZeros);
        let (part, whole) = (ConventionId::MeanOfMeans, ConventionId::TokenWeighted);
        assert!(!enters(skipped, EmptyMean::Reduction, part));
        assert!(!enters(skipped, EmptyMean::HandMasked, whole));
        assert!(enters(skipped, EmptyMean::HandMasked, part));
        assert!(enters(stepped, EmptyMean::Reduction, whole));
    }
}
