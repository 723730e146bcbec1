//! What the page asks of the worker.

use serde::{Deserialize, Serialize};

use super::{Fixture, FullBatch, RunId};
use crate::setup::Setup;

/// One request. The worker acts on it between two microbatches. A check or a fit ends where a run is loaded, told to go or to pause, or
/// [`Self::Stop`] comes; its answer is then [`super::Fault::Stopped`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// Open the device this worker was built for and check it against the oracle.
    Open,
    /// Build a run from its start: data, model, lanes. Replaces the run before. It stands still until told to go.
    Load {
        /// Its number.
        run: RunId,
        /// The experiment.
        setup: Box<Setup>,
        /// The text of the person's own file, where `setup.data` asks for one.
        own_text: Option<String>,
    },
    /// The same for a run that is given.
    LoadFixture {
        /// Its number.
        run: RunId,
        /// The run.
        fixture: Box<Fixture>,
    },
    /// Train until the budget, a pause or a fault.
    Run(RunId),
    /// Stop at the next update boundary (or microbatch boundary, when stepping by microbatch).
    Pause(RunId),
    /// Do one thing, then pause.
    Step(RunId, StepBy),
    /// Wait this long after each microbatch, and report each one; 0 is full speed.
    Pace {
        /// The run.
        run: RunId,
        /// Milliseconds.
        pause_ms: u32,
    },
    /// Compute all conventions on the next group, at the first lane's parameters. The run must stand at a group boundary.
    Probe {
        /// The run.
        run: RunId,
        /// Where the full batch's gradient is to come from.
        full_batch: FullBatch,
    },
    /// A few updates of a small controlled set, checked. Leaves any loaded run as it is.
    Preflight {
        /// The experiment.
        setup: Box<Setup>,
        /// The text of the person's own file, where `setup.data` asks for one.
        own_text: Option<String>,
    },
    /// Find the largest m that fits by trying. Leaves any loaded run as it is.
    Fit {
        /// The experiment.
        setup: Box<Setup>,
        /// The text of the person's own file, where `setup.data` asks for one.
        own_text: Option<String>,
        /// Bytes allowed.
        limit: u64,
    },
    /// End a check or a fit that is going on.
    Stop,
}

/// How far one step goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub enum StepBy {
    Microbatch,
    Update,
    /// One update as fast as in a run, with none of its microbatches shown.
    UpdateAtFullSpeed,
}

/// Which device the person wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceChoice {
    /// WebGPU where the adapter is hardware, else the CPU device.
    #[default]
    Auto,
    /// The CPU device.
    Cpu,
    /// WebGPU, software adapters included.
    WebGpu,
}
