//! How far one microbatch got in one lane: lanes go through the same group, and may end it differently.

use std::ops::Range;

use super::{Recording, recording::CurrentGroup};
use crate::{
    batch::{LaneRule, Pass},
    protocol::{CellState, Outcome},
};

/// How far one microbatch got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Not begun.
    Waiting,
    /// In its forward.
    Forward,
    /// In its backward.
    Backward,
    /// Its backward is done; its gradient is in no applied update, or in one that was made without an exchange.
    Done,
    /// Its gradient was exchanged between replicas and applied.
    Reduced,
    /// The group ended without it being computed.
    LeftOut,
}

/// The progress of microbatch `at` of the current group in `lane`; `None` where there is no such microbatch.
pub fn progress(recording: &Recording, current: &CurrentGroup, lane: usize, at: usize) -> Option<Progress> {
    let facts = current.plan.microbatches.get(at)?.facts;
    let ended = current.ended.and_then(|group| recording.groups.get(group));
    let Some(row) = ended.and_then(|row| row.lanes.get(lane)) else {
        return current.states.get(at).map(|state| watched(*state));
    };
    let rule = *recording.setup.lanes.get(lane)?;
    let accumulation = current.plan.microbatches.iter().map(|k| k.facts.index + 1).max()?;
    // A loop that steps inside its group makes an attempt after each index: this cell's is what counts.
    let inner = row.inner.iter().find(|attempt| attempt.after_index == facts.index);
    let inside = rule.recipe().step.inside();
    let ended = match inner {
        Some(attempt) => attempt.outcome,
        None if inside => row.outcome,
        None => row.ended(),
    };
    let last = if inside { facts.index + 1 } else { accumulation };
    Some(match ended {
        Outcome::NoSupervisedToken | Outcome::Dropped => Progress::LeftOut,
        Outcome::Applied if current.plan.replicas > 1 && exchanged(rule, facts.index..last, accumulation) => {
            Progress::Reduced
        }
        Outcome::Applied | Outcome::NonFiniteGradient | Outcome::Refused(_) | Outcome::Carried => Progress::Done,
    })
}

/// Whether a lane's loop exchanges gradients after one of these microbatches, the first of which goes with them. One pass over the whole
/// group leaves nothing to exchange.
fn exchanged(rule: LaneRule, mut indices: Range<u32>, accumulation: u32) -> bool {
    let recipe = rule.recipe();
    rule.convention().pass == Pass::AsSplit && indices.any(|later| recipe.exchanges_after(later, accumulation))
}

fn watched(state: CellState) -> Progress {
    match state {
        CellState::Waiting => Progress::Waiting,
        CellState::Forward => Progress::Forward,
        CellState::Backward => Progress::Backward,
        CellState::Done => Progress::Done,
        CellState::Reduced => Progress::Reduced,
    }
}
