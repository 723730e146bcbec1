//! Compiling a run's kernels ahead of it, piece by piece, so that a page can show progress.

use super::{Advance, Device, Session};
use crate::{
    batch::GroupPlan,
    data::Corpus,
    protocol::{CellState, Fault, Preparation},
    setup::Setup,
};

/// One group of the real setup, computed on throw-away state.
///
/// ```ignore
/// let mut warm_up = WarmUp::new(&device, &setup, &corpus)?;
/// while let Some(progress) = warm_up.step().await? { post(progress); yield_to_the_event_loop().await; }
/// ```
pub struct WarmUp {
    session: Session,
    done: u32,
    total: u32,
}

impl WarmUp {
    /// Nothing is computed yet.
    pub fn new(device: &Device, setup: &Setup, corpus: &Corpus) -> Result<Self, Fault> {
        // Kernels depend on what is computed, not on which microbatch it is; the longest examples would only take longer.
        Ok(Self::of(Session::new(device, setup, corpus.clone())?))
    }

    /// One that uses up `session`.
    pub fn of(session: Session) -> Self {
        Self {
            session,
            done: 0,
            total: 0,
        }
    }

    /// Computes the next piece and says how far it is; `None` once all are done.
    pub async fn step(&mut self) -> Result<Option<Preparation>, Fault> {
        loop {
            if self.total > 0 && self.done >= self.total {
                return Ok(None);
            }
            // Watched, so that each piece is waited for and its kernels are compiled when it is said to be done.
            match self.session.advance(true).await? {
                Advance::Began(plan) => (self.done, self.total) = (0, pieces(&plan)),
                Advance::Microbatch(rows) => {
                    let is_piece = rows
                        .iter()
                        .any(|row| matches!(row.state, CellState::Backward | CellState::Done));
                    self.done += u32::from(is_piece);
                    return Ok(Some(self.progress()));
                }
                // Nothing to compile here; a run that never has anything ends with a fault of its own.
                Advance::Updated(row) if row.plan.supervised() == 0 => {}
                Advance::Updated(_) | Advance::Finished => {
                    self.done = self.total;
                    return Ok(Some(self.progress()));
                }
            }
        }
    }

    fn progress(&self) -> Preparation {
        Preparation::CompilingKernels {
            done: self.done,
            total: self.total,
        }
    }
}

/// A forward and a backward of each microbatch, and the update.
fn pieces(group: &GroupPlan) -> u32 {
    u32::try_from(group.microbatches.len())
        .unwrap_or(u32::MAX)
        .saturating_mul(2)
        .saturating_add(1)
}
