//! The largest microbatch that fits into a number of bytes, found by training with it.

use super::{Advance, Device, Session, memory::Meter};
use crate::{
    batch::{
        Example, ExampleId, Split,
        fit::{Kept, Search},
    },
    data::Corpus,
    protocol::{Fault, FitReport, FitTry, FittingSplit},
    setup::{Setup, limits},
};

/// Microbatches that a replica accumulates in a try: with two, the gradient so far stands beside the next forward, and more change
/// nothing.
const ACCUMULATED: u32 = 2;

/// Tries one m after another, and says each to `say`. A try is a whole group: forward, backward and update of every lane and replica,
/// with the longest examples that there are, so that no later group takes more. It ends as soon as it passes `limit`, and nothing larger
/// is tried then. The bytes are all that are in use, whoever uses them, as they are for the memory limit of a run.
///
/// The data that cannot be used at m = 1 is refused as a run refuses it; [`Fault::MemoryNotMeasured`] where nothing counts bytes.
pub async fn fit(
    device: &Device,
    setup: &Setup,
    corpus: &Corpus,
    limit: u64,
    say: &dyn Fn(FitTry),
) -> Result<FitReport, Fault> {
    if Meter::of(&device.clone().without_autodiff()).is_none() {
        return Err(Fault::MemoryNotMeasured);
    }
    let corpus = longest_first(corpus);
    let (split, target) = (setup.split, setup.split.effective_batch());
    let replicas = split.replicas.get();
    let mut search = Search::up_to(largest(split, &corpus.examples));
    let mut tries = Vec::new();
    // Once without counting: what the device's libraries make on first use, and keep, is not the run's.
    attempt(device, setup, &corpus, 1, limit).await?;
    while let Some(microbatch) = search.next() {
        let tried = attempt(device, setup, &corpus, microbatch, limit).await?;
        say(tried);
        tries.push(tried);
        search = search.tried(microbatch, tried.fits);
    }
    let fitting = search.answer().and_then(|microbatch| {
        let kept = Kept::of(target, microbatch, replicas)?;
        Some(FittingSplit {
            microbatch,
            accumulation: kept.accumulation,
            replicas,
            remainder: kept.remainder,
        })
    });
    Ok(FitReport {
        limit,
        target,
        tries,
        split: fitting,
    })
}

/// The largest m worth a try: one that leaves each replica a microbatch, that the examples fill on every replica, and whose positions
/// one microbatch may have.
fn largest(split: Split, examples: &[Example]) -> u32 {
    let longest = examples.iter().map(Example::length).max().unwrap_or(0).max(1) as u64;
    let filled = examples.len() as u64 / u64::from(split.replicas.get());
    let bounds = [
        u64::from(Kept::largest_microbatch(split)),
        u64::from(limits::MAX_COUNT),
        limits::MAX_POSITIONS / longest,
        filled,
    ];
    let least = bounds.into_iter().min().unwrap_or(1).max(1);
    u32::try_from(least).unwrap_or(u32::MAX)
}

async fn attempt(
    device: &Device,
    setup: &Setup,
    corpus: &Corpus,
    microbatch: u32,
    limit: u64,
) -> Result<FitTry, Fault> {
    let accumulation = Kept::of(setup.split.effective_batch(), microbatch, setup.split.replicas.get())
        .map_or(1, |kept| kept.accumulation.min(ACCUMULATED));
    let split = Split::new(microbatch, accumulation, setup.split.replicas.get()).unwrap_or(setup.split);
    let small = Setup {
        split,
        shuffle: false,
        memory_limit: limit,
        ..setup.clone()
    };
    let outcome = |peak, fits| FitTry { microbatch, peak, fits };
    let mut session = Session::new(device, &small, corpus.clone())?;
    let built = session.facts().memory.map_or(0, |memory| memory.peak);
    loop {
        match session.advance(false).await {
            Ok(Advance::Updated(row)) => {
                let peak = row.memory.map_or(built, |memory| memory.peak.max(built));
                return Ok(outcome(peak, peak <= limit));
            }
            Ok(Advance::Began(_) | Advance::Microbatch(_)) => {}
            // A budget that is reached before the first group leaves nothing to try.
            Ok(Advance::Finished) => return Ok(outcome(built, built <= limit)),
            Err(Fault::MemoryLimit { in_use, .. }) => return Ok(outcome(in_use, false)),
            Err(fault) => return Err(fault),
        }
    }
}

/// The same examples under new numbers, longest first.
fn longest_first(corpus: &Corpus) -> Corpus {
    let mut corpus = corpus.clone();
    corpus
        .examples
        .sort_by_key(|example| std::cmp::Reverse(example.length()));
    renumbered(corpus)
}

/// Examples carry their place as their number.
pub(super) fn renumbered(mut corpus: Corpus) -> Corpus {
    for (id, example) in (0..).zip(&mut corpus.examples) {
        example.id = ExampleId(id);
    }
    corpus
}
