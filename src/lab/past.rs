//! The last few runs, small enough to keep, to compare a new one with.

use std::collections::VecDeque;

use super::{
    recording::{LaneSeries, Recording},
    written::Written,
};
use crate::{
    protocol::RunId,
    setup::{Draft, diff},
};

/// Runs that are kept.
const KEPT: usize = 4;

/// Bytes that the journals of all kept runs may hold together. The oldest give way first.
pub const JOURNAL_BYTES: u64 = 256 * 1024 * 1024;

/// A run that was replaced by another.
#[derive(Clone, Debug)]
pub struct PastRun {
    /// Which run.
    pub run: RunId,
    /// The form it was loaded from.
    pub draft: Draft,
    /// Columns for the charts, one a lane.
    pub lanes: Vec<LaneSeries>,
    /// Its journal; `None` once there was no room for it.
    pub journal: Option<Written>,
}

/// Runs that were replaced, the newest first.
#[derive(Clone, Debug, Default)]
pub struct Past(VecDeque<PastRun>);

impl Past {
    /// Keeps what a replaced run recorded. One that recorded nothing is not worth its place.
    pub fn keep(&mut self, recording: Option<Recording>) {
        self.keep_within(recording, JOURNAL_BYTES);
    }

    fn keep_within(&mut self, recording: Option<Recording>, journal_bytes: u64) {
        let Some(mut recording) = recording.filter(|recording| !recording.groups.is_empty()) else {
            return;
        };
        self.0.push_front(PastRun {
            run: recording.run,
            draft: recording.draft.clone(),
            lanes: std::mem::take(&mut recording.lanes),
            journal: Written::from(recording),
        });
        self.0.truncate(KEPT);
        let mut held = 0;
        for past in &mut self.0 {
            held += past.journal.as_ref().map_or(0, Written::bytes);
            if held > journal_bytes {
                past.journal = None;
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        batch::GroupPlan,
        protocol::{DeviceReport, GroupRow, RunFacts},
        setup::parse::parse,
    };

    fn run(number: u32) -> Recording {
        let draft = Draft::default();
        let setup = parse(&draft).unwrap();
        let mut recording = Recording::new(RunId(number), draft, setup);
        recording.facts = Some(RunFacts {
            parameters: 1,
            vocabulary: 1,
            examples: 1,
            groups_per_epoch: 1,
            dropped_per_epoch: 0,
            dropped: Vec::new(),
            repeated_per_epoch: 0,
            memory: None,
        });
        recording.device = Some(DeviceReport {
            kind: "cpu".to_owned(),
            adapter: None,
            open_ms: 0.0,
        });
        recording.groups.push(GroupRow {
            plan: GroupPlan {
                number: 0,
                epoch: 0,
                partial: false,
                replicas: 1,
                nominal_accumulation: 1,
                microbatches: Vec::new(),
            },
            dropped: Vec::new(),
            lanes: Vec::new(),
            elapsed_ms: 0.0,
            memory: None,
        });
        recording
    }

    #[test]
    fn the_oldest_journals_give_way_and_their_runs_stay() {
        let one = Written::from(run(1)).unwrap().bytes();
        assert_eq!(one, size_of::<GroupRow>() as u64);
        let mut past = Past::default();
        for number in 1..=3 {
            past.keep_within(Some(run(number)), 2 * one);
        }
        let kept: Vec<(u32, bool)> = past.runs().map(|past| (past.run.0, past.journal.is_some())).collect();
        assert_eq!(kept, [(3, true), (2, true), (1, false)]);
        past.keep_within(Some(run(4)), 0);
        assert!(past.runs().all(|past| past.journal.is_none()));
    }
}
