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
}

impl Sharding {
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
        }
    }
}
