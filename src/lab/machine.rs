//! The worker and its device, as the page knows them.

use crate::protocol::{Chosen, DeviceKind, DeviceReport, Fault, Preparation, RunFacts, RunId, SelfCheck};

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

/// What "try again" does about a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// Opens the device anew.
    OpenDevice,
    /// Builds the run of the form anew: the device is well.
    BuildRun,
}

/// What else there is to do about a fault than to read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaysOut {
    /// Trying again.
    pub again: Again,
    /// Whether the CPU device is another one than that in use.
    pub use_cpu: bool,
}

impl Machine {
    /// The ways out of the fault shown; `None` where there is none, or only the form can mend it.
    pub fn ways_out(&self) -> Option<WaysOut> {
        let again = match self.fault.as_ref()? {
            Fault::Data(_) => return None,
            Fault::MemoryLimit { .. } => Again::BuildRun,
            _ => Again::OpenDevice,
        };
        let on_cpu = self
            .chosen
            .as_ref()
            .is_some_and(|chosen| chosen.device == DeviceKind::Cpu);
        Some(WaysOut {
            again,
            use_cpu: !on_cpu,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{data::DataError, protocol::ChoiceReason};

    #[test]
    fn no_way_out_is_offered_that_leads_nowhere() {
        let ways = |fault: Option<Fault>, device| {
            let chosen = Some(Chosen {
                device,
                reason: ChoiceReason::Asked,
            });
            let machine = Machine {
                chosen,
                fault,
                ..Machine::default()
            };
            machine.ways_out().map(|ways| (ways.again, ways.use_cpu))
        };
        let memory = || {
            Some(Fault::MemoryLimit {
                in_use: 2,
                limit: 1,
                group: 0,
            })
        };
        assert_eq!(ways(memory(), DeviceKind::Cpu), Some((Again::BuildRun, false)));
        assert_eq!(ways(memory(), DeviceKind::WebGpu), Some((Again::BuildRun, true)));
        assert_eq!(
            ways(Some(Fault::NoSuchRun), DeviceKind::Cpu),
            Some((Again::OpenDevice, false))
        );
        assert_eq!(ways(Some(Fault::Data(DataError::Empty)), DeviceKind::WebGpu), None);
        assert_eq!(ways(None, DeviceKind::WebGpu), None);
    }
}
