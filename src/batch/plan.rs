//! From an order of examples to groups: which example, in which update, replica and microbatch.

use serde::{Deserialize, Serialize};

use super::{
    example::{Example, ExampleId},
    facts::{GroupFacts, MicrobatchFacts},
    sharding::Sharding,
    split::Split,
};

/// What happens to examples that do not fill a last group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LastGroup {
    /// They make a smaller group, divided by its real supervised tokens.
    #[default]
    Process,
    /// They are left out of this epoch; the plan names them.
    Drop,
}

/// One microbatch: who is in it and what that counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MicrobatchPlan {
    /// The examples, row by row.
    pub ids: Vec<ExampleId>,
    /// Its counts.
    pub facts: MicrobatchFacts,
    /// Positions that only fill a row.
    pub padded: u64,
}

/// One group: everything between two optimizer updates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupPlan {
    /// Its number since the start of the run, from 0.
    pub number: u64,
    /// The epoch it belongs to, from 0.
    pub epoch: u32,
    /// Whether it has fewer than m x A x D places filled.
    pub partial: bool,
    /// D: replicas of the run, those without work included.
    pub replicas: u32,
    /// A as set.
    pub nominal_accumulation: u32,
    /// Microbatches in the order they are worked on: accumulation index by index, replica by replica.
    pub microbatches: Vec<MicrobatchPlan>,
}

impl GroupPlan {
    /// The counts a convention may look at.
    pub fn facts(&self) -> GroupFacts {
        GroupFacts {
            replicas: self.replicas,
            nominal_accumulation: self.nominal_accumulation,
            microbatches: self.microbatches.iter().map(|k| k.facts).collect(),
        }
    }

    /// N: the denominator, known before the group's first forward.
    pub fn supervised(&self) -> u64 {
        self.microbatches.iter().map(|k| k.facts.supervised).sum()
    }

    /// Examples of the group.
    pub fn examples(&self) -> u64 {
        self.microbatches.iter().map(|k| k.ids.len() as u64).sum()
    }

    /// The same examples as one microbatch on one replica: the full-batch reference. Rows keep the order of work.
    #[must_use]
    pub fn whole(&self, examples: &[Example]) -> Self {
        let ids: Vec<ExampleId> = self.microbatches.iter().flat_map(|k| k.ids.iter().copied()).collect();
        Self {
            replicas: 1,
            nominal_accumulation: 1,
            microbatches: vec![microbatch(examples, ids, 0, 0)],
            ..self.clone()
        }
    }
}

/// One epoch's groups, and who was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpochPlan {
    /// The groups, in order.
    pub groups: Vec<GroupPlan>,
    /// Examples in no group of this epoch, by [`LastGroup::Drop`].
    pub dropped: Vec<ExampleId>,
}

/// Where an epoch starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochStart {
    /// The epoch's number, from 0.
    pub epoch: u32,
    /// The number of its first group.
    pub first_group: u64,
}

/// Cuts one epoch into groups. `examples[i]` must be the example with ID i; `order` names those of this epoch.
pub fn plan_epoch(
    examples: &[Example],
    order: &[ExampleId],
    split: Split,
    sharding: Sharding,
    last_group: LastGroup,
    start: EpochStart,
) -> EpochPlan {
    let [m, a, d] = [split.microbatch, split.accumulation, split.replicas].map(|count| u64::from(count.get()));
    let full = usize::try_from(sharding.group_size(m, a, d)).unwrap_or(usize::MAX);
    let mut plan = EpochPlan {
        groups: Vec::new(),
        dropped: Vec::new(),
    };
    for chunk in order.chunks(full) {
        let partial = chunk.len() < full;
        if partial && last_group == LastGroup::Drop {
            plan.dropped = chunk.to_vec();
            continue;
        }
        plan.groups.push(GroupPlan {
            number: start.first_group + plan.groups.len() as u64,
            epoch: start.epoch,
            partial,
            replicas: split.replicas.get(),
            nominal_accumulation: split.accumulation.get(),
            microbatches: deal(examples, chunk, split, sharding),
        });
    }
    plan
}

fn deal(examples: &[Example], chunk: &[ExampleId], split: Split, sharding: Sharding) -> Vec<MicrobatchPlan> {
    let (m, a, d) = (
        u64::from(split.microbatch.get()),
        u64::from(split.accumulation.get()),
        u64::from(split.replicas.get()),
    );
    let mut cells: Vec<Vec<ExampleId>> = vec![Vec::new(); usize::try_from(a * d).unwrap_or(0)];
    for (position, &id) in (0..).zip(chunk) {
        let (replica, place) = sharding.place(position, m, a, d);
        for replica in sharding.copies(replica, d) {
            let cell = usize::try_from(place / m * d + replica)
                .ok()
                .and_then(|i| cells.get_mut(i));
            if let Some(cell) = cell {
                cell.push(id);
            }
        }
    }
    (0u32..)
        .zip(cells)
        .filter(|(_, ids)| !ids.is_empty())
        .map(|(cell, ids)| {
            let d = split.replicas.get();
            microbatch(examples, ids, cell % d, cell / d)
        })
        .collect()
}

pub(super) fn microbatch(examples: &[Example], ids: Vec<ExampleId>, replica: u32, index: u32) -> MicrobatchPlan {
    let of = |id: &ExampleId| usize::try_from(id.0).ok().and_then(|i| examples.get(i));
    let width = ids.iter().filter_map(of).map(Example::length).max().unwrap_or(0).max(1);
    let positions = (ids.len() * width) as u64;
    let real: u64 = ids.iter().filter_map(of).map(|e| e.length() as u64).sum();
    let supervised = ids.iter().filter_map(of).map(Example::supervised).sum();
    let scored = ids
        .iter()
        .filter_map(of)
        .filter(|example| example.supervised() > 0)
        .count();
    let count = |examples| u32::try_from(examples).unwrap_or(u32::MAX);
    let (examples, scored_examples) = (count(ids.len()), count(scored));
    MicrobatchPlan {
        facts: MicrobatchFacts {
            replica,
            index,
            examples,
            scored_examples,
            supervised,
            positions,
            unpadded: real,
        },
        padded: positions - real,
        ids,
    }
}
