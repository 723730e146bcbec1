//! What can happen to the page, and what it can ask of the outside.

use std::sync::Arc;

use super::blueprint::{Language, Theme};
use crate::{
    batch::Unit,
    data::DataError,
    protocol::{Chosen, Command, DeviceChoice, Event, Fault, FullBatch, StepBy},
    setup::{Draft, Key, codec::LinkError},
};

/// The person's own file, read and found to be text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnFile {
    /// Its name.
    pub name: String,
    /// Its text. Shared: it can be megabytes.
    pub text: Arc<str>,
}

impl OwnFile {
    /// Whether a setup that asks for `name` means this file; one that names none takes what there is.
    pub fn is_named(&self, name: &str) -> bool {
        name.is_empty() || self.name == name
    }
}

/// What the person wants of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Go {
    /// Train until the budget or a pause.
    Run,
    /// One microbatch or one update.
    Step(StepBy),
}

/// Anything that changes the page's state.
#[derive(Clone, Debug)]
pub enum Msg {
    /// One field was edited.
    Edit(Key, String),
    /// A preset, a link or a file replaced the whole form. Never starts a run.
    Replace(Draft),
    /// The person gave a file, or it could not be used.
    OwnFile(Result<OwnFile, DataError>),
    /// Run or step: loads the draft first, when nothing is loaded or the run is over.
    Go(Go),
    /// Stop at the next boundary.
    Pause,
    /// Back to the start of the draft's experiment.
    Reset,
    /// Slow motion: milliseconds after each microbatch; 0 for full speed.
    Pace(u32),
    /// Compute all conventions at the present point of the run.
    Probe(FullBatch),
    /// Check a few updates of the draft.
    Preflight,
    /// Find the largest m that fits into this many bytes.
    Fit(u64),
    /// End a check or a fit that is going on.
    Stop,
    /// Another device is wanted.
    Device(DeviceChoice),
    /// The page looked and chose a device.
    Chosen(Chosen),
    /// The link could not be read; the default draft stays.
    BadLink(LinkError),
    /// The person read the message about the link.
    DismissLink,
    /// Another horizontal axis.
    Axis(Unit),
    /// Show or hide a lane in the charts.
    ToggleLane(usize),
    /// The reader's language.
    Language(Language),
    /// The colours.
    Theme(Theme),
    /// The worker said something.
    Worker(Event),
    /// The worker died, could not be loaded, or sent what nobody reads.
    WorkerDied(Fault),
    /// The person read the fault.
    DismissFault,
}

/// What the outside has to do. Carried out in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Send this to the worker.
    Send(Command),
    /// End the worker, if one lives, and start one for this device.
    Respawn(DeviceChoice),
    /// Write the draft into the page's address.
    WriteLink(Draft),
    /// Remember language, theme and device for the next visit.
    Remember,
}
