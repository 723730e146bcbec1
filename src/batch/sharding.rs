//! Which replica sees which example of a group.

use serde::{Deserialize, Serialize};

/// How the examples of one group, in data order, are dealt to D replicas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharding {
    /// Example p goes to replica p mod D, as PyTorch's `DistributedSampler` deals.
    #[default]
    Interleaved,
    /// Whole microbatches in turn: microbatch b goes to replica b mod D, as Accelerate's `BatchSamplerShard` deals.
    Microbatches,
    /// The first m x A examples to replica 0, the next to replica 1, and so on.
    Blocks,
    /// Every replica gets the same m x A examples: what happens where no sampler deals them out.
    Identical,
}

impl Sharding {
    /// Different examples of one full group.
    pub fn group_size(self, microbatch: u64, accumulation: u64, replicas: u64) -> u64 {
        match self {
            Self::Identical => microbatch * accumulation,
            Self::Interleaved | Self::Microbatches | Self::Blocks => microbatch * accumulation * replicas,
        }
    }

    /// Every replica that works on a group's example, and its place there, given where [`Self::place`] puts it.
    pub(super) fn copies(self, replica: u64, replicas: u64) -> std::ops::Range<u64> {
        match self {
            Self::Identical => 0..replicas,
            Self::Interleaved | Self::Microbatches | Self::Blocks => replica..replica + 1,
        }
    }

    /// The replica, and the place in that replica's own sequence, of the group's example number `position`.
    pub fn place(self, position: u64, microbatch: u64, accumulation: u64, replicas: u64) -> (u64, u64) {
        match self {
            Self::Interleaved => (position % replicas, position / replicas),
            Self::Microbatches => {
                let (batch, row) = (position / microbatch, position % microbatch);
                (batch % replicas, batch / replicas * microbatch + row)
            }
            Self::Blocks => {
                let block = microbatch * accumulation;
                (position / block, position % block)
            }
            Self::Identical => (0, position),
        }
    }
}
