//! The last few runs, small enough to keep, to compare a new one with.

use std::collections::VecDeque;

use super::recording::{LaneSeries, Recording};
use crate::{
    protocol::RunId,
    setup::{Draft, diff},
};

/// Runs that are kept.
const KEPT: usize = 4;

/// A run that was replaced by another. Only what charts draw is kept of it.
#[derive(Clone, Debug)]
pub struct PastRun {
    /// Which run.
    pub run: RunId,
    /// The form it was loaded from.
    pub draft: Draft,
    /// Columns for the charts, one a lane.
    pub lanes: Vec<LaneSeries>,
}

/// Runs that were replaced, the newest first.
#[derive(Clone, Debug, Default)]
pub struct Past(VecDeque<PastRun>);

impl Past {
    /// Keeps what a replaced run recorded. One that recorded nothing is not worth its place.
    pub fn keep(&mut self, recording: Option<Recording>) {
        let Some(recording) = recording.filter(|recording| !recording.groups.is_empty()) else {
            return;
        };
        let Recording { run, draft, lanes, .. } = recording;
        self.0.push_front(PastRun { run, draft, lanes });
        self.0.truncate(KEPT);
    }

    /// The runs, the newest first.
    pub fn runs(&self) -> impl ExactSizeIterator<Item = &PastRun> {
        self.0.iter()
    }
}

impl PastRun {
    /// What `now` does otherwise than this run did.
    pub fn changes_to(&self, now: &Draft) -> Vec<diff::Change> {
        diff::drafts(&self.draft, now)
    }
}
