//! What a convention may look at: counts only, all known before a group's first forward.

use serde::{Deserialize, Serialize};

/// The counts of one microbatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MicrobatchFacts {
    /// Which replica works on it, from 0.
    pub replica: u32,
    /// Its place in that replica's accumulation, from 0.
    pub index: u32,
    /// Examples in it.
    pub examples: u32,
    /// Examples in it that have any supervised token.
    pub scored_examples: u32,
    /// n: its supervised tokens.
    pub supervised: u64,
    /// All its positions, padding included: rows x width.
    pub positions: u64,
    /// Its positions without padding: those that hold a token, scored or ignored.
    pub unpadded: u64,
}

/// The counts of one group: everything a convention may divide by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupFacts {
    /// D: the replicas that the reduction averages over, those without work included.
    pub replicas: u32,
    /// A, as set; a partial group may have fewer microbatches.
    pub nominal_accumulation: u32,
    /// All microbatches of the group, replica by replica.
    pub microbatches: Vec<MicrobatchFacts>,
}

impl GroupFacts {
    /// N: supervised tokens of the whole group, over all replicas.
    pub fn supervised(&self) -> u64 {
        self.microbatches.iter().map(|k| k.supervised).sum()
    }

    /// Positions of the whole group that hold a token, scored or ignored.
    pub fn unpadded(&self) -> u64 {
        self.microbatches.iter().map(|k| k.unpadded).sum()
    }

    /// Supervised tokens, over all replicas, of that half of the accumulation that `k` belongs to. The first half has A / 2
    /// microbatches of each replica, rounded up; a group that is no longer than that is all first half.
    pub fn supervised_in_half_of(&self, k: &MicrobatchFacts) -> u64 {
        let first = self.nominal_accumulation.div_ceil(2);
        let half = |k: &MicrobatchFacts| k.index < first;
        self.microbatches
            .iter()
            .filter(|other| half(other) == half(k))
            .map(|k| k.supervised)
            .sum()
    }

    /// E: examples of the whole group that have any supervised token.
    pub fn scored_examples(&self) -> u64 {
        self.microbatches.iter().map(|k| u64::from(k.scored_examples)).sum()
    }

    /// N_d: supervised tokens of one replica.
    pub fn supervised_on(&self, replica: u32) -> u64 {
        self.on(replica).map(|k| k.supervised).sum()
    }

    /// Microbatches that one replica really has in this group.
    pub fn accumulated_on(&self, replica: u32) -> u64 {
        self.on(replica).count() as u64
    }

    /// Microbatches of the replica that has most: A, or less in a partial group.
    pub fn accumulation(&self) -> u32 {
        self.microbatches.iter().map(|k| k.index + 1).max().unwrap_or(0)
    }

    /// Whether, in the order of work, every replica is done with its microbatch of this index once `k` is.
    pub fn closes_index(&self, k: &MicrobatchFacts) -> bool {
        let last = self.microbatches.iter().rev().find(|other| other.index == k.index);
        last.is_some_and(|last| last.replica == k.replica)
    }

    /// Whether no later microbatch of the same replica follows in this group.
    pub fn is_last_on_replica(&self, k: &MicrobatchFacts) -> bool {
        self.on(k.replica).all(|other| other.index <= k.index)
    }

    fn on(&self, replica: u32) -> impl Iterator<Item = &MicrobatchFacts> {
        self.microbatches.iter().filter(move |k| k.replica == replica)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_closes_with_its_last_replica() {
        let k = |replica, index| MicrobatchFacts {
            replica,
            index,
            examples: 1,
            scored_examples: 1,
            supervised: 1,
            positions: 1,
            unpadded: 1,
        };
        // A partial group: replica 1 has no second microbatch.
        let group = GroupFacts {
            replicas: 2,
            nominal_accumulation: 3,
            microbatches: vec![k(0, 0), k(1, 0), k(0, 1)],
        };
        let closes: Vec<bool> = group.microbatches.iter().map(|k| group.closes_index(k)).collect();
        assert_eq!(closes, [false, true, true]);
        assert_eq!(group.accumulation(), 2);
    }
}
