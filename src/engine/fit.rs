//! The largest microbatch that fits into a number of bytes, found by training with it.

use super::{Advance, Device, Session, memory::Meter};
use crate::{
    batch::{
        Example, LastGroup, Split, Unit,
        fit::{Held, Kept, Search, fewer_take_less, group, grows_for_ever, tried, worst},
    },
    data::{Corpus, DataError},
    protocol::{Fault, FitReport, FitTry, FittingSplit},
    setup::{Budget, Setup, limits},
};

/// Groups of a try: from the second one on, the optimizer's state and whatever a loop leaves behind stand beside the forward.
const GROUPS: u32 = 2;

/// Tries one m after another. A try is two whole groups: forward, backward and update of every lane and replica, with examples as long as
/// the longest, so that no other group takes more. It ends as soon as it passes `limit`; what is tried after that says [`Search`]. The bytes are all
/// that are in use, whoever uses them, as they are for the memory limit of a run.
///
/// `go_on` is told of each try as it is made and asked, with `None`, between two microbatches; [`Fault::Stopped`] where it says no. Data
/// that cannot be used is refused as a run refuses it; [`Fault::MemoryNotMeasured`] where nothing counts bytes, and
/// [`Fault::GrowsForEver`] where a lane keeps its graphs.
pub async fn fit(
    device: &Device,
    setup: &Setup,
    corpus: &Corpus,
    limit: u64,
    go_on: &impl AsyncFn(Option<FitTry>) -> bool,
) -> Result<FitReport, Fault> {
    if Meter::of(&device.clone().without_autodiff()).is_none() {
        return Err(Fault::MemoryNotMeasured);
    }
    if grows_for_ever(&setup.lanes) {
        return Err(Fault::GrowsForEver);
    }
    let held = Held::by(&setup.lanes);
    let (split, target) = (setup.split, setup.split.effective_batch());
    let replicas = split.replicas.get();
    // Refused as a run refuses it, where it is.
    drop(Session::new(device, setup, corpus.clone())?);
    let mut search = Search::up_to(largest(setup, &corpus.examples), held.last_accumulating(split));
    if fewer_take_less(&setup.lanes) {
        search = search.passing_by();
    }
    let mut tries = Vec::new();
    // Once without counting: what the device's libraries make on first use, and keep, is not the run's.
    attempt(device, setup, corpus, held, 1, limit, go_on).await?;
    while let Some(microbatch) = search.next() {
        let made = attempt(device, setup, corpus, held, microbatch, limit, go_on).await?;
        tries.push(made);
        search = search.tried(microbatch, made.fits);
        // The answer is worth telling even to who would stop here.
        let told = go_on(Some(made)).await;
        if !told && search.next().is_some() {
            return Err(Fault::Stopped);
        }
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
fn largest(setup: &Setup, examples: &[Example]) -> u32 {
    let longest = examples.iter().map(Example::length).max().unwrap_or(0).max(1) as u64;
    let at_once = setup.sharding.group_size(1, 1, setup.split.replicas.get().into());
    let filled = examples.len() as u64 / at_once.max(1);
    let bounds = [
        u64::from(Kept::largest_microbatch(setup.split)),
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
    held: Held,
    microbatch: u32,
    limit: u64,
    go_on: &impl AsyncFn(Option<FitTry>) -> bool,
) -> Result<FitTry, Fault> {
    let shares = microbatch > 1 || held == Held::All;
    let Some(example) = worst(&corpus.examples, shares) else {
        return Err(Fault::Data(DataError::NothingSupervised));
    };
    let replicas = setup.split.replicas.get();
    let plan = group(&example, &held.rows(setup.split, microbatch), replicas);
    let small = small(
        setup,
        Split::new(microbatch, plan.nominal_accumulation, replicas),
        limit,
    );
    let outcome = |peak, fits| FitTry { microbatch, peak, fits };
    let corpus = Corpus {
        vocabulary: corpus.vocabulary.clone(),
        examples: vec![example],
        ..*corpus
    };
    let mut session = Session::new(device, &small, corpus)?;
    session.repeat(plan);
    let mut peak = session.facts().memory.map_or(0, |memory| memory.peak);
    let mut left = GROUPS;
    while left > 0 {
        match session.advance(false).await {
            Ok(Advance::Updated(row)) => {
                peak = row.memory.map_or(peak, |memory| memory.peak.max(peak));
                left -= 1;
            }
            Ok(Advance::Began(_) | Advance::Microbatch(_)) => {}
            Ok(Advance::Finished) => break,
            Err(Fault::MemoryLimit { in_use, .. }) => return Ok(outcome(in_use, false)),
            Err(fault) => return Err(fault),
        }
        if !go_on(None).await {
            return Err(Fault::Stopped);
        }
    }
    Ok(outcome(peak, peak <= limit))
}

/// The setup of a try: it ends by its groups alone, and no update of it is skipped, since a skipped one leaves no optimizer state.
fn small(setup: &Setup, split: Option<Split>, limit: u64) -> Setup {
    let mut loss_scale = setup.loss_scale;
    if let Some(scale) = &mut loss_scale {
        scale.init_scale = 1.0;
    }
    Setup {
        split: split.unwrap_or(setup.split),
        lanes: setup.lanes.iter().copied().map(tried).collect(),
        sampler_padding: false,
        last_group: LastGroup::Process,
        budget: Budget {
            unit: Unit::Examples,
            amount: u64::MAX,
        },
        inject_inf: Vec::new(),
        loss_scale,
        memory_limit: limit,
        ..setup.clone()
    }
}
