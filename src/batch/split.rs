//! m, A and D: how a target batch is cut.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

/// How one optimizer update's examples are cut: m x A x D.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Split {
    /// m: examples in one microbatch on one replica.
    pub microbatch: NonZeroU32,
    /// A: microbatches accumulated on one replica before an update.
    pub accumulation: NonZeroU32,
    /// D: data-parallel replicas. Not the number of GPUs; see [`crate::batch::Topology`].
    pub replicas: NonZeroU32,
}

impl Split {
    /// A split from plain numbers; `None` if any is zero.
    pub fn new(microbatch: u32, accumulation: u32, replicas: u32) -> Option<Self> {
        Some(Self {
            microbatch: NonZeroU32::new(microbatch)?,
            accumulation: NonZeroU32::new(accumulation)?,
            replicas: NonZeroU32::new(replicas)?,
        })
    }

    /// Examples that one full group takes, over all replicas: m x A x D.
    ///
    /// ```
    /// use microbatch_lab::batch::Split;
    /// let split = Split::new(2, 8, 2).unwrap();
    /// assert_eq!((split.effective_batch(), split.per_replica()), (32, 16));
    /// ```
    pub fn effective_batch(self) -> u64 {
        self.per_replica() * u64::from(self.replicas.get())
    }

    /// Examples of one full group that each replica sees: m x A.
    pub fn per_replica(self) -> u64 {
        u64::from(self.microbatch.get()) * u64::from(self.accumulation.get())
    }

    /// Microbatches in one full group, over all replicas: A x D.
    pub fn microbatches(self) -> u64 {
        u64::from(self.accumulation.get()) * u64::from(self.replicas.get())
    }
}
