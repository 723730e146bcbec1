//! What a try goes through, so that no group of a run takes more.

use crate::batch::{
    Example, ExampleId, FaultId, GroupPlan, IGNORE_INDEX, LaneRule, PAD_ID, Pass, Split, no_sync::SyncMode,
    plan::microbatch as cell, recipe::Graph,
};

/// What a try goes through, so that no group of a run takes more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// The group that a run would have: as many full microbatches as [`Kept::of`] says.
    Kept,
    /// The whole target batch, where some lane holds all of a group at once: in one pass, or as forwards that wait for one backward. It is
    /// the same whatever m, so that a larger m does not take less for leaving more out.
    All,
}

impl Held {
    /// What `lanes` ask for, all together: tries under different rules could not be compared.
    pub fn by(lanes: &[LaneRule]) -> Self {
        let at_once =
            |rule: &LaneRule| rule.convention().pass == Pass::Whole || rule.recipe().sync == SyncMode::SingleBackward;
        if lanes.iter().any(at_once) {
            Self::All
        } else {
            Self::Kept
        }
    }

    /// Rows of each microbatch of one replica, in order. What does not fill a microbatch comes first, so that the last one, which stands
    /// beside everything else, is full.
    pub fn rows(self, split: Split, microbatch: u32) -> Vec<u64> {
        let (m, all) = (u64::from(microbatch).max(1), split.per_replica());
        let (first, full) = match self {
            Self::Kept => (0, (all / m).max(1)),
            Self::All => (all % m, all / m),
        };
        let full = std::iter::repeat_n(m, usize::try_from(full).unwrap_or(usize::MAX));
        Some(first).filter(|&rows| rows > 0).into_iter().chain(full).collect()
    }

    /// The largest m whose tries accumulate. Beyond it no gradient stands beside the forward, so a larger m may take less.
    pub fn last_accumulating(self, split: Split) -> u32 {
        let last = match self {
            Self::Kept => split.per_replica() / 2,
            Self::All => split.per_replica() - 1,
        };
        u32::try_from(last).unwrap_or(u32::MAX)
    }
}

/// Whether some lane keeps one graph for each microbatch of a group, and so takes less the fewer there are: what is larger than a size that
/// does not fit may fit.
pub fn fewer_take_less(lanes: &[LaneRule]) -> bool {
    lanes.iter().any(|rule| rule.recipe().sync == SyncMode::SingleBackward)
}

/// Whether some lane keeps the graph of every microbatch, so that a run passes any limit in the end.
pub fn grows_for_ever(lanes: &[LaneRule]) -> bool {
    lanes.iter().any(|rule| rule.recipe().graph == Graph::Retained)
}

/// The lane as a try goes through it. A group of a try is never partial, so gradients that a partial one would leave for the next
/// group are left by every group instead.
#[must_use]
pub fn tried(rule: LaneRule) -> LaneRule {
    let carried = rule.faults.has(FaultId::TailCarried);
    let faults = rule.faults.without(FaultId::TailCarried);
    let lingering = faults.and(FaultId::ZeroGradForgotten).ok().filter(|_| carried);
    LaneRule {
        faults: lingering.unwrap_or(faults),
        ..rule
    }
}

/// The example that a group takes most with: the longest with anything scored, and, where it can share a microbatch, as wide as the
/// longest of all pads it. `None` where nothing is scored.
pub fn worst(examples: &[Example], shares: bool) -> Option<Example> {
    let scored = examples.iter().filter(|example| example.supervised() > 0);
    let mut worst = scored.max_by_key(|example| example.length())?.clone();
    if shares {
        let longest = examples.iter().map(Example::length).max().unwrap_or(0);
        worst.tokens.resize(longest.max(worst.length()), PAD_ID);
        worst.labels.resize(worst.tokens.len(), IGNORE_INDEX);
    }
    worst.id = ExampleId(0);
    Some(worst)
}

/// A group of nothing but `example`, with these rows in each replica's microbatches.
pub fn group(example: &Example, rows: &[u64], replicas: u32) -> GroupPlan {
    let example = std::slice::from_ref(example);
    let ids = |rows: u64| vec![ExampleId(0); usize::try_from(rows).unwrap_or(0)];
    let index = |(index, &rows): (u32, &u64)| (0..replicas).map(move |d| cell(example, ids(rows), d, index));
    GroupPlan {
        number: 0,
        epoch: 0,
        partial: false,
        replicas,
        nominal_accumulation: u32::try_from(rows.len()).unwrap_or(u32::MAX),
        microbatches: (0..).zip(rows).flat_map(index).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{ConventionId, Faults};

    #[test]
    fn a_try_holds_what_is_kept_or_all() {
        let split = Split::new(2, 16, 2).unwrap();
        let rows = |held: Held, m| held.rows(split, m);
        assert_eq!(rows(Held::Kept, 3), [3; 10]);
        assert_eq!(rows(Held::Kept, 16), [16, 16]);
        assert_eq!(rows(Held::Kept, 17), [17]);
        assert_eq!(rows(Held::All, 32), [32]);
        assert_eq!(rows(Held::All, 31), [1, 31], "what is left over comes first");
        assert_eq!(rows(Held::All, 9), [5, 9, 9, 9]);
        assert_eq!(rows(Held::All, 8), [8; 4]);
        for held in [Held::Kept, Held::All] {
            let last = held.last_accumulating(split);
            assert!(
                rows(held, last).len() > 1 && rows(held, last + 1).len() == 1,
                "{held:?}"
            );
        }
    }

    fn lane(convention: ConventionId, faults: &[FaultId]) -> LaneRule {
        LaneRule {
            convention,
            faults: Faults::try_from(faults.to_vec()).unwrap(),
        }
    }

    #[test]
    fn what_lanes_hold_decides_what_a_try_holds() {
        use ConventionId::{FullBatch, Sum};
        use FaultId::{
            GraphRetained, SingleBackward, TailCarried, TailDropped, ZeroGradBeforeBackward, ZeroGradForgotten,
        };
        let (plain, whole) = (lane(Sum, &[]), lane(FullBatch, &[]));
        assert_eq!(Held::by(&[plain, plain]), Held::Kept);
        assert_eq!(Held::by(&[plain, whole]), Held::All);
        assert_eq!(Held::by(&[lane(Sum, &[SingleBackward]), plain]), Held::All);
        assert!(fewer_take_less(&[plain, lane(Sum, &[SingleBackward])]) && !fewer_take_less(&[plain, whole]));
        assert!(grows_for_ever(&[plain, lane(Sum, &[GraphRetained])]) && !grows_for_ever(&[plain, whole]));
        let faults = |faults: &[FaultId]| Vec::from(tried(lane(Sum, faults)).faults);
        assert_eq!(faults(&[TailCarried]), [ZeroGradForgotten]);
        assert_eq!(faults(&[TailCarried, ZeroGradBeforeBackward]), [ZeroGradBeforeBackward]);
        assert_eq!(faults(&[TailDropped]), [TailDropped]);
    }

    #[test]
    fn the_worst_group_is_as_wide_as_any_and_never_without_a_score() {
        let example = |tokens, scored: usize| Example {
            id: ExampleId(7),
            tokens: vec![1; tokens],
            labels: (0..tokens).map(|t| if t < scored { 1 } else { IGNORE_INDEX }).collect(),
        };
        let examples = [example(3, 3), example(9, 0), example(5, 1)];
        let alone = worst(&examples, false).unwrap();
        assert_eq!((alone.length(), alone.supervised(), alone.id), (5, 1, ExampleId(0)));
        let padded = worst(&examples, true).unwrap();
        assert_eq!((padded.length(), padded.labels.len(), padded.supervised()), (9, 9, 1));
        assert_eq!(worst(&examples[1..2], true), None);
        let plan = group(&padded, &[1, 4], 2);
        let of: Vec<_> = plan
            .microbatches
            .iter()
            .map(|k| (k.ids.len(), k.facts.replica, k.facts.index))
            .collect();
        assert_eq!(of, [(1, 0, 0), (1, 1, 0), (4, 0, 1), (4, 1, 1)]);
        assert_eq!(
            (plan.supervised(), plan.examples(), plan.nominal_accumulation),
            (10, 10, 2)
        );
        assert_eq!(plan.microbatches[2].facts.positions, 36);
    }
}
