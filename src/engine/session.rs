//! One run: its lanes, what comes next, and what it reports.

use super::Device;
use crate::{
    batch::GroupPlan,
    data::Corpus,
    protocol::{Fault, GroupRow, MicrobatchRow, RunFacts},
    setup::Setup,
};

/// What one call of [`Session::advance`] did.
#[derive(Debug)]
pub enum Advance {
    /// A group begins; nothing of it is computed yet.
    Began(GroupPlan),
    /// Work on one microbatch, over all lanes. Unwatched: one call does all of it and the row is
    /// [`Done`](crate::protocol::CellState::Done) without lanes. Watched: a first call does the forward (row
    /// [`Backward`](crate::protocol::CellState::Backward), no lanes), a second one the backward
    /// ([`Done`](crate::protocol::CellState::Done), one entry a lane).
    Microbatch(Vec<MicrobatchRow>),
    /// The group ended: reduced, checked, and applied or skipped. All its microbatches are reduced.
    Updated(Box<GroupRow>),
    /// The budget is reached. Every further call says so again.
    Finished,
}

/// One run of a Setup on a device.
pub struct Session {}

impl Session {
    /// Makes the first parameters of every lane. Nothing is computed yet.
    pub fn new(device: &Device, setup: &Setup, corpus: Corpus) -> Result<Self, Fault> {
        let _ = (device, setup, corpus);
        unimplemented!("being written")
    }

    /// What was built.
    pub fn facts(&self) -> RunFacts {
        unimplemented!("being written")
    }

    /// Whether the run stands between two groups: before [`Advance::Began`], after [`Advance::Updated`].
    pub fn at_group_boundary(&self) -> bool {
        unimplemented!("being written")
    }

    /// The microbatch that the next [`Self::advance`] works on, its place in the group's plan; `None` where it will do something else.
    /// A host that shows work in progress reports it as waiting for its forward before it calls.
    pub fn next_cell(&self) -> Option<u32> {
        unimplemented!("being written")
    }

    /// Does the next small thing. With `watch`, each microbatch's losses and a checksum of the parameters are read back at once;
    /// without, there is one readback a group, at its end. May change between calls.
    pub async fn advance(&mut self, watch: bool) -> Result<Advance, Fault> {
        let _ = watch;
        unimplemented!("being written")
    }
}
