//! What a run took, as its first and its last measured group side by side.

use super::Recording;
use crate::protocol::{GroupRow, MemoryRow, Phase, PhaseBytes};

/// Groups that are looked through at either end for one that was measured.
const LOOKED: usize = 64;

/// Bytes of one phase and replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseLine {
    /// Which phase.
    pub phase: Phase,
    /// Which replica; `None` where all are concerned.
    pub replica: Option<u32>,
    /// In the first measured group.
    pub first: Option<PhaseBytes>,
    /// In the last measured group.
    pub last: Option<PhaseBytes>,
}

/// Both groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstAndLast<'a> {
    /// The first measured group's number, from 0, and what it took.
    pub first: (u64, &'a MemoryRow),
    /// The last one's. The same, while only one was measured.
    pub last: (u64, &'a MemoryRow),
}

impl<'a> FirstAndLast<'a> {
    /// `None` where nothing was measured.
    pub fn of(recording: &'a Recording) -> Option<Self> {
        let measured = |row: &'a GroupRow| Some((row.plan.number, row.memory.as_ref()?));
        let groups = &recording.groups;
        Some(Self {
            first: groups.iter().take(LOOKED).find_map(measured)?,
            last: groups.iter().rev().take(LOOKED).find_map(measured)?,
        })
    }

    /// Every phase and replica that either has: those of the first group, then what only the last has.
    pub fn lines(&self) -> Vec<PhaseLine> {
        let of = |row: &MemoryRow, key: (Phase, Option<u32>)| {
            row.phases
                .iter()
                .find(|phase| (phase.phase, phase.replica) == key)
                .copied()
        };
        let mut lines: Vec<PhaseLine> = Vec::new();
        for phase in self.first.1.phases.iter().chain(&self.last.1.phases) {
            let key = (phase.phase, phase.replica);
            if lines.iter().all(|line| (line.phase, line.replica) != key) {
                lines.push(PhaseLine {
                    phase: phase.phase,
                    replica: phase.replica,
                    first: of(self.first.1, key),
                    last: of(self.last.1, key),
                });
            }
        }
        lines
    }
}
