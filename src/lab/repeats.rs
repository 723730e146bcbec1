//! Examples that stand in more than one place of a group: repeats by the sampler's padding, or by identical sharding.

use std::collections::BTreeSet;

use crate::batch::{ExampleId, GroupPlan};

/// Who is repeated in one group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repeats {
    /// Places of the group: its examples, repeats counted.
    pub places: u64,
    /// Different examples.
    pub unique: u64,
    /// Those that stand in more than one place.
    pub repeated: BTreeSet<ExampleId>,
}

impl Repeats {
    /// Counts those of `plan`.
    pub fn of(plan: &GroupPlan) -> Self {
        let mut ids: Vec<ExampleId> = plan.microbatches.iter().flat_map(|k| k.ids.iter().copied()).collect();
        ids.sort_unstable();
        let repeated = ids.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
        let repeated = repeated.collect();
        let places = ids.len() as u64;
        ids.dedup();
        Self {
            places,
            unique: ids.len() as u64,
            repeated,
        }
    }
}
