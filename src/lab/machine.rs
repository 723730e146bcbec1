//! The worker and its device, as the page knows them.

use crate::protocol::{Chosen, DeviceReport, Fault, Preparation, RunFacts, RunId, SelfCheck};

/// Where the device stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum DeviceState {
    /// The worker is being loaded or the device opened.
    #[default]
    Starting,
    /// Open, not yet checked.
    Opened(DeviceReport),
    /// Checked against the oracle and in use.
    Usable(DeviceReport, SelfCheck),
    /// Not usable; the page says why and what else there is.
    Failed(Fault),
}

/// What the person can do with the run now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// No run is loaded yet.
    #[default]
    Empty,
    /// A run was sent to the worker and is being built.
    Loading,
    /// Standing at a boundary.
    Paused,
    /// Training.
    Running,
    /// Told to pause; the boundary is not reached yet.
    Pausing,
    /// The budget is reached.
    Finished,
    /// Ended by a fault.
    Failed,
}

/// The worker as the page knows it.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// Whether the worker said Ready.
    pub ready: bool,
    /// Which device was chosen, and why; `None` until the page has looked.
    pub chosen: Option<Chosen>,
    /// Its device.
    pub device: DeviceState,
    /// A slow step in progress.
    pub preparing: Option<Preparation>,
    /// The number of the current run; older runs' events are dropped.
    pub run: RunId,
    /// What the current run does.
    pub transport: Transport,
    /// What the worker has built and still holds.
    pub facts: Option<RunFacts>,
    /// What to do as soon as the run is loaded.
    pub after_load: Option<super::msg::Go>,
    /// How often the worker died since a run was last loaded or asked for.
    pub deaths: u8,
    /// The last fault, shown until dismissed or a new run starts.
    pub fault: Option<Fault>,
}
