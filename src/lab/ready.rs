//! Why a question beside a run cannot be asked just now.

use super::{
    Answer, Lab,
    machine::{DeviceState, Transport},
};

/// One reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotNow {
    /// No device is ready.
    NoDevice,
    /// No run is loaded, or it ended by a fault, or with its worker.
    NoRun,
    /// A run is being built or trains.
    Busy,
    /// The run stands between two microbatches of a group.
    InsideGroup,
    /// The form has errors.
    FormHasErrors,
    /// The same question was asked and is not answered yet.
    Asked,
}

/// Whether all conventions can be compared: a run stands between two groups.
pub fn probe(lab: &Lab) -> Result<(), NotNow> {
    match lab.machine.transport {
        Transport::Empty | Transport::Failed => return Err(NotNow::NoRun),
        Transport::Loading | Transport::Running | Transport::Pausing => return Err(NotNow::Busy),
        Transport::Paused | Transport::Finished => {}
    }
    // It lived in a worker that is gone.
    if lab.machine.facts.is_none() {
        return Err(NotNow::NoRun);
    }
    let current = lab.recording.as_ref().and_then(|recording| recording.current.as_ref());
    if current.is_some_and(|current| current.ended.is_none()) {
        return Err(NotNow::InsideGroup);
    }
    not_asked(&lab.tools.probe)
}

/// Whether the draft can be checked before a campaign.
pub fn preflight(lab: &Lab) -> Result<(), NotNow> {
    draft(lab)?;
    not_asked(&lab.tools.preflight)
}

/// Whether the draft's largest m can be looked for.
pub fn fit(lab: &Lab) -> Result<(), NotNow> {
    draft(lab)?;
    not_asked(&lab.tools.fit)
}

/// What is asked about the draft takes a device that has nothing else to do.
fn draft(lab: &Lab) -> Result<(), NotNow> {
    if !matches!(lab.machine.device, DeviceState::Usable(..)) {
        return Err(NotNow::NoDevice);
    }
    match lab.machine.transport {
        Transport::Loading | Transport::Running | Transport::Pausing => Err(NotNow::Busy),
        _ if !lab.errors.is_empty() => Err(NotNow::FormHasErrors),
        _ => Ok(()),
    }
}

fn not_asked<T>(answer: &Answer<T>) -> Result<(), NotNow> {
    if answer.waits() { Err(NotNow::Asked) } else { Ok(()) }
}
