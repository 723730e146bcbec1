//! Every way a loop goes wrong apart from how it weighs losses, as one row of one table: a switch on a lane.

use serde::{Deserialize, Serialize};

use super::{Convention, Pass, recipe::Recipe, symptom::Symptom};

mod table;

pub use table::TABLE;

/// The stable name of a loop fault, as it stands in links, files and goldens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is described by its row in TABLE")]
pub enum FaultId {
    ZeroGradBeforeBackward,
    ZeroGradAfterBackward,
    ZeroGradForgotten,
    StepEachMicrobatch,
    MovesSummed,
    SchedulerEachMicrobatch,
    SchedulerEachAttempt,
    SchedulerBeforeOptimizer,
    HorizonInMicrobatches,
    ClipRunningGradient,
    ClipEachContribution,
    ClipEachMean,
    ClipBeforeUnscale,
    UnscaleTwice,
    ScaleGrownInGroup,
    UnscaledAfterFirst,
    HandMaskedMean,
    LogDividedTwice,
    LogLastTimesA,
    SyncEachMicrobatch,
    ForwardOutsideNoSync,
    NeverSynced,
    ForwardInsideNoSync,
    LastForwardInsideNoSync,
    LastForwardOutsideNoSync,
    SingleBackward,
    SyncFirstMicrobatch,
    GraphRetained,
    TailDropped,
    TailCarried,
    EmptyGroupStepped,
}

/// The part of the loop that a fault sits in. A lane has at most one fault in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Place {
    ZeroGrad,
    OptimizerStep,
    Scheduler,
    Horizon,
    Clip,
    ClipOrder,
    Scale,
    EmptyMean,
    Log,
    Synchronisation,
    Graph,
    Tail,
    EmptyGroup,
}

/// What a fault needs to be seen at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing.
    Nothing,
    /// A largest gradient norm.
    Clip,
    /// A loss scale.
    LossScale,
    /// Both.
    ClipAndLossScale,
    /// A convention that divides by the tokens of a part of the group, which may have none.
    PartMean,
}

/// One way of going wrong.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// Its stable name.
    pub id: FaultId,
    /// Where it sits.
    pub place: Place,
    /// What the loop does, as code; `scale` is the loss scale, 1 without one.
    pub formula: &'static str,
    /// Frameworks, reports and documents that it comes from.
    pub sources: &'static [&'static str],
    /// What a person notices.
    pub symptom: Symptom,
    /// What it needs to be seen.
    pub needs: Needs,
    /// How it changes a right loop.
    pub(in crate::batch) apply: fn(&mut Recipe),
}

impl Fault {
    /// The row of `id`.
    pub fn of(id: FaultId) -> &'static Self {
        // The table has one row a variant, held by a test; the first row stands in where it had not.
        TABLE.iter().find(|row| row.id == id).unwrap_or(&TABLE[0])
    }

    /// Whether it can show anything under `convention`. One pass has no loop to go wrong.
    pub fn shows_under(&self, convention: &Convention) -> bool {
        convention.pass == Pass::AsSplit && (self.needs != Needs::PartMean || convention.divides_by_a_part())
    }
}

/// The faults of one lane, at most one a [`Place`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "Vec<FaultId>", try_from = "Vec<FaultId>")]
pub struct Faults(u64);

/// Two faults that cannot be in one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} and {1:?} sit in the same place of the loop")]
pub struct Excluded(pub FaultId, pub FaultId);

impl Faults {
    /// None.
    pub const NONE: Self = Self(0);

    /// These and one more.
    pub fn and(self, id: FaultId) -> Result<Self, Excluded> {
        let place = Fault::of(id).place;
        match self.rows().find(|row| row.place == place && row.id != id) {
            Some(row) => Err(Excluded(row.id, id)),
            None => Ok(Self(self.0 | bit(id))),
        }
    }

    /// These without one.
    #[must_use]
    pub fn without(self, id: FaultId) -> Self {
        Self(self.0 & !bit(id))
    }

    /// These with one switched on or off. Switched on, it takes the place of another in the same part of the loop.
    #[must_use]
    pub fn switched(self, id: FaultId) -> Self {
        if self.has(id) {
            return self.without(id);
        }
        let place = Fault::of(id).place;
        let others = self.rows().filter(|row| row.place == place);
        Self(others.fold(self, |faults, row| faults.without(row.id)).0 | bit(id))
    }

    /// Those that can show anything under `convention`.
    #[must_use]
    pub fn under(self, convention: &Convention) -> Self {
        let others = self.rows().filter(|row| !row.shows_under(convention));
        others.fold(self, |faults, row| faults.without(row.id))
    }

    /// Whether `id` is among them.
    pub fn has(self, id: FaultId) -> bool {
        self.0 & bit(id) != 0
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Their rows, in the table's order.
    pub fn rows(self) -> impl Iterator<Item = &'static Fault> {
        TABLE.iter().filter(move |row| self.has(row.id))
    }
}

fn bit(id: FaultId) -> u64 {
    1 << (id as u32)
}

impl From<Faults> for Vec<FaultId> {
    fn from(faults: Faults) -> Self {
        faults.rows().map(|row| row.id).collect()
    }
}

impl TryFrom<Vec<FaultId>> for Faults {
    type Error = Excluded;

    fn try_from(ids: Vec<FaultId>) -> Result<Self, Excluded> {
        ids.into_iter().try_fold(Self::NONE, Self::and)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_has_one_row_that_changes_the_loop() {
        let mut ids: Vec<FaultId> = TABLE.iter().map(|row| row.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), TABLE.len());
        assert_eq!(
            ids.last(),
            Some(&FaultId::EmptyGroupStepped),
            "the last variant has a row, and the others before it"
        );
        assert_eq!(ids.len(), FaultId::EmptyGroupStepped as usize + 1);
        for row in TABLE {
            let alone = Faults::NONE.and(row.id).unwrap();
            assert_ne!(Recipe::with(alone), Recipe::default(), "{:?}", row.id);
            assert_eq!(alone.rows().count(), 1);
            assert!(!row.sources.is_empty());
        }
    }

    #[test]
    fn a_mean_of_nothing_needs_a_convention_that_may_divide_by_nothing() {
        use crate::batch::ConventionId as C;
        let both: Faults = vec![FaultId::ZeroGradForgotten, FaultId::HandMaskedMean]
            .try_into()
            .unwrap();
        let parts = [
            C::MeanOfMeans,
            C::ReplicaTokenMean,
            C::DividedTwice,
            C::NeverDivided,
            C::NominalAccumulation,
            C::TwoDenominators,
        ];
        for row in crate::batch::convention::TABLE {
            let kept = match row.id {
                C::FullBatch => Faults::NONE,
                id if parts.contains(&id) => both,
                _ => both.without(FaultId::HandMaskedMean),
            };
            assert_eq!(both.under(row), kept, "{:?}", row.id);
            assert_eq!(row.divides_by_a_part(), parts.contains(&row.id), "{:?}", row.id);
        }
    }

    #[test]
    fn two_faults_in_one_place_exclude_each_other() {
        let never = Faults::NONE.and(FaultId::NeverSynced).unwrap();
        assert_eq!(
            never.and(FaultId::SingleBackward),
            Err(Excluded(FaultId::NeverSynced, FaultId::SingleBackward))
        );
        assert_eq!(never.and(FaultId::NeverSynced), Ok(never));
        let both = never.and(FaultId::ZeroGradForgotten).unwrap();
        let instead = both.switched(FaultId::SingleBackward);
        assert_eq!(
            Vec::from(instead),
            [FaultId::ZeroGradForgotten, FaultId::SingleBackward],
            "another fault in a place replaces the one there"
        );
        assert_eq!(
            instead.switched(FaultId::SingleBackward),
            both.without(FaultId::NeverSynced)
        );
        assert!(both.has(FaultId::ZeroGradForgotten) && !both.without(FaultId::NeverSynced).has(FaultId::NeverSynced));
        let json = serde_json::to_string(&both).unwrap();
        assert_eq!(json, r#"["zero_grad_forgotten","never_synced"]"#);
        assert_eq!(serde_json::from_str::<Faults>(&json).unwrap(), both);
    }
}
