//! What the worker says.

use serde::{Deserialize, Serialize};

use super::{
    DeviceReport, Fault, FitReport, FitTry, GroupRow, MemoryRow, MicrobatchRow, PreflightReport, ProbeReport, RunId,
    SelfCheck,
};
use crate::batch::{ExampleId, GroupPlan};

/// One piece of news.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// The worker listens.
    Ready {
        /// Its [`super::VERSION`].
        version: u32,
    },
    /// Something slow is going on.
    Preparing(Preparation),
    /// The device is open.
    Opened(DeviceReport),
    /// The device computed the check group; a failed check is followed by a [`Fault::DeviceComputesWrongly`].
    Checked(SelfCheck),
    /// The run is built and stands at its start.
    Loaded {
        /// Which.
        run: RunId,
        /// What was built.
        facts: RunFacts,
    },
    /// A group begins. Sent for every group while stepping or in slow motion, else at most once a message.
    Group {
        /// Which run.
        run: RunId,
        /// Who is in it.
        plan: GroupPlan,
    },
    /// Microbatches in progress or done, while stepping or in slow motion.
    Microbatches {
        /// Which run.
        run: RunId,
        /// In order.
        rows: Vec<MicrobatchRow>,
    },
    /// Groups that ended, in order.
    Groups {
        /// Which run.
        run: RunId,
        /// In order.
        rows: Vec<GroupRow>,
    },
    /// Run, pause or end.
    State {
        /// Which run.
        run: RunId,
        /// What it does now.
        state: RunState,
    },
    /// All conventions at one point of a run.
    Probed {
        /// Which run.
        run: RunId,
        /// The table, or why there is none.
        report: Result<ProbeReport, Fault>,
    },
    /// The check before a campaign is done.
    Preflighted(Result<PreflightReport, Fault>),
    /// One more microbatch size was tried.
    FitTried(FitTry),
    /// The search for the largest m is done.
    Fitted(Result<FitReport, Fault>),
    /// Something went wrong.
    Fault {
        /// The run concerned, if one.
        run: Option<RunId>,
        /// What.
        fault: Fault,
    },
}

/// A slow step before training, for a progress line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Preparation {
    /// Asking for an adapter and a device.
    OpeningDevice,
    /// Kernels compile as a warm-up computes; `done` of `total` pieces.
    CompilingKernels {
        /// Pieces done.
        done: u32,
        /// Pieces in all.
        total: u32,
    },
    /// Making examples and parameters.
    Building,
}

/// What a loaded run consists of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFacts {
    /// Parameters of one replica of one lane.
    pub parameters: u64,
    /// Tokens of the vocabulary, padding included.
    pub vocabulary: u32,
    /// Examples of one epoch, dropped ones included.
    pub examples: u64,
    /// Groups of one epoch.
    pub groups_per_epoch: u64,
    /// Examples that each epoch drops.
    pub dropped_per_epoch: u64,
    /// The first epoch's dropped examples (each later epoch's are in its last [`GroupRow`]).
    pub dropped: Vec<ExampleId>,
    /// Examples that the sampler repeats each epoch to fill its replicas.
    pub repeated_per_epoch: u64,
    /// What stood in memory when the run was built, where it is measured.
    pub memory: Option<MemoryRow>,
}

/// What a run does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunState {
    /// Training.
    Running,
    /// Standing at a boundary.
    Paused,
    /// The budget is reached.
    Finished,
}
