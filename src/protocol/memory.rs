//! Bytes, as they were measured.

use serde::{Deserialize, Serialize};

/// Whose account of memory it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemorySource {
    /// Every allocation of the process or worker, counted by its allocator: the CPU device's tensors and all else.
    Allocator,
    /// The device's own account of its buffers. It has no peaks: they are the largest of the moments looked at.
    Device,
}

/// What a run was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The model's parameters of every lane and replica are there, and the data.
    Model,
    /// The optimizer's state, too: after the first update, whose buffers it needs.
    OptimizerState,
    /// The forward of one microbatch.
    Forward,
    /// Its backward.
    Backward,
    /// Reduction, clip, optimizer and what is read back.
    Update,
}

/// Bytes of one phase of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseBytes {
    /// What was done.
    pub phase: Phase,
    /// The replica at work, whose perimeter this is: what came on top while it worked. `None` where all are concerned.
    pub replica: Option<u32>,
    /// In use when the phase began.
    pub before: u64,
    /// In use when it ended.
    pub after: u64,
    /// The most in use meanwhile.
    pub peak: u64,
}

/// What one group took: each phase at its largest, over microbatches and lanes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryRow {
    /// Who counted.
    pub source: MemorySource,
    /// In the order of work.
    pub phases: Vec<PhaseBytes>,
    /// In use after the group.
    pub in_use: u64,
    /// Held by the allocator or device, used or not; `None` where it cannot be asked, as natively.
    pub reserved: Option<u64>,
    /// The most in use during the group.
    pub peak: u64,
}
