//! Every word that page and worker exchange.
//!
//! Plain serde data, sent as postcard bytes by `bridge`. The page sends nothing before [`Event::Ready`]; every run event carries its
//! [`RunId`], and the page drops those of older runs.

pub mod command;
pub mod device;
pub mod event;
pub mod fault;
mod fit;
mod fixture;
pub mod journal;
mod memory;
mod preflight;
mod probe;
pub mod row;

pub use command::{Command, DeviceChoice, StepBy};
pub use device::{AdapterFacts, AdapterInfo, ChoiceReason, Chosen, DeviceKind, DeviceReport, Found, SelfCheck};
pub use event::{Event, Preparation, RunFacts, RunState};
pub use fault::Fault;
pub use fit::{FitReport, FitTry, FittingSplit};
pub use fixture::Fixture;
pub use memory::{MemoryRow, MemorySource, Phase, PhaseBytes};
pub use preflight::{CheckKind, PreflightCheck, PreflightReport};
pub use probe::{FullBatch, ProbeReport, ProbeRow};
pub use row::{
    Apart, AttemptRow, BatchNormRow, CellState, GroupRow, LaneRow, MicrobatchRow, Outcome, ReplicaSpread, ScaleRow,
    Watched,
};

use serde::{Deserialize, Serialize};

/// Raised whenever a message changes its shape; page and worker of different versions refuse each other with a clear fault.
pub const VERSION: u32 = 5;

/// One loaded experiment. Ordered: a later run has a larger number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub u32);
