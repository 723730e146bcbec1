//! What can go wrong in the worker, by name. The page words it in the reader's language.

use serde::{Deserialize, Serialize};

use crate::data::DataError;

/// A named failure. Texts are for the command line and the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
pub enum Fault {
    /// No adapter, or WebGPU is switched off.
    #[error("WebGPU is not available here: {reason}")]
    NoWebGpu {
        /// What the browser said.
        reason: String,
    },
    /// The device gave a wrong result in its self-check.
    #[error(
        "this device computes wrongly: gradient error {gradient_error:.1e}, loss error {loss_error:.1e}, allowed {tolerance:.1e}; use the CPU device"
    )]
    DeviceComputesWrongly {
        /// Relative L2 of the gradient.
        gradient_error: f64,
        /// Relative error of the loss.
        loss_error: f64,
        /// The most that is allowed.
        tolerance: f64,
    },
    /// The device went away.
    #[error("the device was lost: {reason}")]
    DeviceLost {
        /// What was said.
        reason: String,
    },
    /// The data cannot be used.
    #[error("{0}")]
    Data(DataError),
    /// A whole epoch of groups went by that brought the run no nearer to its budget.
    #[error(
        "the last {groups} groups applied nothing that brings the first lane nearer to the budget: no gradient was finite, no token supervised, its loop was refused, or every group was partial and left out; lower the rate, or mend the data or that lane"
    )]
    NothingApplies {
        /// Groups since the last one that did.
        groups: u64,
    },
    /// More memory in use than the person allowed.
    #[error(
        "{in_use} bytes are in use in group {group}, the limit is {limit}: make m smaller, keep no graphs, or raise memory_limit"
    )]
    MemoryLimit {
        /// Bytes in use.
        in_use: u64,
        /// Bytes allowed.
        limit: u64,
        /// The group that was stopped.
        group: u64,
    },
    /// The largest m was asked for where nothing counts bytes.
    #[error("memory in use is not measured in this build")]
    MemoryNotMeasured,
    /// The largest m was asked for where a lane takes more with every group.
    #[error("a lane keeps its graphs (graph_retained), so memory grows with every group and no m fits for good")]
    GrowsForEver,
    /// What was asked for was stopped before it was done.
    #[error("stopped before it was done")]
    Stopped,
    /// BatchNorm over a single position has no variance.
    #[error("BatchNorm needs at least 2 positions in every microbatch; make m or the lengths larger")]
    BatchNormNeedsTwo,
    /// A probe was asked for in the middle of a group.
    #[error("the probe looks at a whole group; let the group end first")]
    InsideGroup,
    /// A command for a run that is not loaded.
    #[error("no such run is loaded")]
    NoSuchRun,
    /// Page and worker come from different builds.
    #[error("page speaks version {page}, worker {worker}; reload the page")]
    VersionMismatch {
        /// The page's.
        page: u32,
        /// The worker's.
        worker: u32,
    },
    /// The worker panicked.
    #[error("the training worker stopped: {message}")]
    Panicked {
        /// Its last words.
        message: String,
    },
    /// The worker could not be loaded, or a message could not be read.
    #[error("the training worker cannot be reached: {message}")]
    Unreachable {
        /// What was seen.
        message: String,
    },
}
