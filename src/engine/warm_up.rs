//! Compiling a run's kernels ahead of it, piece by piece, so that a page can show progress.

use super::{Advance, Device, Session, model::Network, numerics::Numerics, program::Recorded};
use crate::{
    batch::{Convention, Example, GroupPlan, IGNORE_INDEX, Pass},
    data::Corpus,
    protocol::{CellState, Fault, Fixture, Preparation},
    setup::Setup,
};

/// Tokens of an example that is there to compile kernels only.
const FEW: usize = 2;

/// One group of the real setup, computed on throw-away state.
///
/// A network's list takes the same kernels whatever the shape of a microbatch, so there two microbatches a replica are enough, of examples
/// that are cut short: the second adds to what the first left. Burn's operations may have other kernels for other shapes, so what they do
/// is done in full. What only a microbatch without anything scored or a later one needs (a mean over nothing, an injected infinity) is
/// compiled when it comes.
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
        let mut corpus = corpus.clone();
        let short = by_list(device, setup, corpus.vocabulary.size(), &corpus.examples);
        if short {
            corpus.examples.iter_mut().for_each(cut);
        }
        Ok(Self::of(Session::new(device, setup, corpus)?, short))
    }

    /// The same for a run whose examples and first parameters are given.
    pub fn of_fixture(device: &Device, mut fixture: Fixture) -> Result<Self, Fault> {
        let vocabulary = usize::try_from(fixture.vocabulary).unwrap_or(usize::MAX);
        let short = by_list(device, &fixture.setup, vocabulary, &fixture.examples);
        if short {
            fixture.examples.iter_mut().for_each(cut);
        }
        Ok(Self::of(Session::of_fixture(device, fixture)?, short))
    }

    fn of(mut session: Session, short: bool) -> Self {
        if short {
            session.keep_first_microbatches();
        }
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

/// Whether all that the lanes of `setup` do is worked off by their network's list: nothing else is asked for, and the device can hold the
/// largest microbatch there may be.
fn by_list(device: &Device, setup: &Setup, vocabulary: usize, examples: &[Example]) -> bool {
    let split = setup.split;
    let [m, a, d] = [split.microbatch, split.accumulation, split.replicas].map(|count| count.get() as usize);
    let whole = setup
        .lanes
        .iter()
        .any(|lane| Convention::of(lane.convention).pass == Pass::Whole);
    let rows = if whole {
        m.saturating_mul(a).saturating_mul(d)
    } else {
        m
    };
    let longest = examples.iter().map(Example::length).max().unwrap_or(1);
    Numerics::are_plain(setup) && Recorded::takes(device, &Network::of(setup, vocabulary), rows, longest.max(1))
}

/// Leaves a few tokens, each of them scored if any was: an example without anything to learn stays one.
fn cut(example: &mut Example) {
    let scored = example.labels.iter().find(|&&label| label != IGNORE_INDEX);
    let label = scored.copied().unwrap_or(IGNORE_INDEX);
    example.tokens.truncate(FEW);
    example.labels = vec![label; example.tokens.len()];
}

/// A forward and a backward of each microbatch, and the update.
fn pieces(group: &GroupPlan) -> u32 {
    u32::try_from(group.microbatches.len())
        .unwrap_or(u32::MAX)
        .saturating_mul(2)
        .saturating_add(1)
}
