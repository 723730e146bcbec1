//! The page's state as plain data, and one pure function that changes it.
//!
//! [`Blueprint`] is what the person asked for and how they want to see it; [`Recording`] is what happened. The page sends a [`Msg`],
//! [`update`] changes the [`Lab`] and answers with the [`Effect`]s that the outside has to carry out. No clock, no browser, no IO.

pub mod blueprint;
pub mod cells;
pub mod closeness;
pub mod machine;
pub mod memory;
pub mod msg;
pub mod past;
pub mod ready;
pub mod recording;
pub mod repeats;
mod run;
pub mod tools;
pub mod update;
mod worker;
pub mod written;

pub use blueprint::{Blueprint, Language, Theme};
pub use cells::Progress;
pub use closeness::Closeness;
pub use machine::{Again, DeviceState, Machine, Transport, WaysOut};
pub use msg::{Effect, Msg, OwnFile};
pub use past::{Past, PastRun};
pub use ready::NotNow;
pub use recording::{LaneSeries, Recording};
pub use repeats::Repeats;
pub use tools::{Answer, Tools};
pub use update::update;
pub use written::Written;

use crate::setup::{FieldError, codec::LinkError};

/// Everything the page shows.
#[derive(Clone, Debug, Default)]
pub struct Lab {
    /// What the person asked for.
    pub blueprint: Blueprint,
    /// What is wrong with the draft as it stands; empty when it parses.
    pub errors: Vec<FieldError>,
    /// Why the link that opened the page could not be read, until dismissed.
    pub bad_link: Option<LinkError>,
    /// The worker, its device and what the run does.
    pub machine: Machine,
    /// The current run, once one was loaded.
    pub recording: Option<Recording>,
    /// The runs before it.
    pub past: Past,
    /// What was asked beside a run.
    pub tools: Tools,
}

impl Lab {
    /// Whether the draft differs from what is loaded, so that the next run would be another experiment.
    pub fn draft_changed(&self) -> bool {
        self.recording
            .as_ref()
            .is_some_and(|recording| recording.draft != self.blueprint.draft)
    }
}
