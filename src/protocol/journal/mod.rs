//! The journal of a run: one JSON object a line, the same from the page and from the command line.
//!
//! The first line describes the run; then, group by group and lane by lane, one line for each microbatch, one for each all-reduce (or
//! one that says there was none), and one for each attempt at an update. `docs/journal.md` is the schema: every field with its type and
//! unit, held against what is written by a test. Numbers that JSON lacks (NaN, infinities) are written as null; checksums, which are
//! larger than JSON's safe integers, as 16 hexadecimal digits. Lanes, groups, epochs, replicas and microbatches count from 0.

mod attempt;
mod header;
mod microbatch;
mod reduction;
#[cfg(test)]
mod tests;

pub use header::header;

use super::GroupRow;
use crate::batch::{Counters, LaneRule};

/// The format of the lines. Raised whenever one changes its meaning.
pub const JOURNAL_VERSION: u32 = 3;

/// Writes the lines of a run's groups, in order. Counters only grow, so what one group took is the difference to the one before.
#[derive(Clone, Debug)]
pub struct Writer {
    lanes: Vec<(LaneRule, Counters)>,
}

/// One lane of a group, as the lines name it.
#[derive(Clone, Copy)]
struct Place<'a> {
    lane: usize,
    rule: LaneRule,
    row: &'a GroupRow,
}

impl Writer {
    /// At the start of a run with these lanes, in the Setup's order.
    pub fn new(lanes: &[LaneRule]) -> Self {
        Self {
            lanes: lanes.iter().map(|&rule| (rule, Counters::default())).collect(),
        }
    }

    /// The lines of the next group.
    pub fn lines(&mut self, row: &GroupRow) -> Vec<String> {
        let mut lines = Vec::new();
        for (lane, ((rule, before), numbers)) in self.lanes.iter_mut().zip(&row.lanes).enumerate() {
            let place = Place { lane, rule: *rule, row };
            lines.extend(microbatch::lines(place, numbers));
            lines.extend(reduction::lines(place, before, &numbers.counters));
            lines.extend(attempt::lines(place, numbers));
            *before = numbers.counters;
        }
        lines
    }
}
