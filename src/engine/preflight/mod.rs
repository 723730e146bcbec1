//! A check before a campaign: a few updates of a small controlled set, with the person's own data, model, lanes and faults, held against
//! what must come out.
//!
//! m, A and D are at most 2 each, so that the full batch in one pass is cheap beside it. The examples are chosen from those with few
//! supervised tokens to those with many, so that a wrong denominator shows. The same group comes twice, for what the first must not leave
//! behind, then half of it, and, where the rate is scheduled, one that an infinity skips and
//! two more: at the top of a warm-up one step is no other rate.

mod checks;
mod controlled;
mod evidence;
mod later;
mod oracle;

use super::{Advance, Device, Session, model::Network};
use crate::{
    batch::{GroupPlan, LaneRule, LastGroup, Pass, ScheduleShape},
    data::Corpus,
    protocol::{Fault, PreflightReport},
    setup::Setup,
};
use evidence::{Evidence, GroupEvidence, Seen};
use later::Later;
use oracle::Oracle;

/// Runs it. A setup that cannot be built is refused as a run refuses it; whatever goes wrong inside the updates is a failed check.
/// `go_on` is asked between two microbatches; [`Fault::Stopped`] where it says no.
///
/// What cannot be checked is left out of the list: replicas and all-reduces where one replica works, the f64 oracle in half precision, where
/// f32 and f64 may round to different neighbours, the rate where it is constant, and a partial group where the setup drops them. Some faults do
/// not show here at all: kept graphs, one backward for all forwards, a scheduler that steps wrongly under a constant rate, a mean written by
/// hand and a step on an empty group where every microbatch has a supervised token.
pub async fn preflight(
    device: &Device,
    setup: &Setup,
    corpus: &Corpus,
    go_on: &impl AsyncFn() -> bool,
) -> Result<PreflightReport, Fault> {
    let split = controlled::split(setup.split);
    let size = setup.sharding.group_size(
        split.microbatch.get().into(),
        split.accumulation.get().into(),
        split.replicas.get().into(),
    );
    let partial = setup.last_group == LastGroup::Process;
    let chosen = controlled::examples(corpus, size);
    let examples = chosen.len() as u64;
    let corpus = Corpus {
        examples: controlled::course(&chosen, size, partial),
        ..corpus.clone()
    };
    // The same group twice, and the half where there is one.
    let looked_at = 2 + usize::from(corpus.examples.len() as u64 > 2 * size);
    let scheduled = setup.schedule.shape != ScheduleShape::Constant;
    let groups = looked_at + if scheduled { 3 } else { 0 };
    let small = controlled::setup(setup, split, scheduled.then_some(looked_at as u64 + 1));
    let network = Network::of(setup, corpus.vocabulary.size());
    let mut session = Session::new(device, &small, corpus.clone())?;
    session.keep_gradients();
    let mut course = Vec::new();
    while course.len() < groups {
        let depth = if course.is_empty() {
            Depth::Everything
        } else if course.len() < looked_at {
            Depth::Ends
        } else {
            Depth::Row
        };
        match watch(&mut session, small.lanes.len(), depth, go_on).await? {
            Some(seen) => course.push(seen),
            None => break,
        }
    }
    let Some(first) = course.first() else {
        return Ok(PreflightReport { checks: Vec::new() });
    };
    // The first lane is the full batch that the others are compared with.
    let Some((reference, lanes)) = first.lanes.split_first() else {
        return Ok(PreflightReport { checks: Vec::new() });
    };
    let full = reference.gradients.first().cloned().unwrap_or_default();
    let view = |rule: &LaneRule, plan: &GroupPlan| match rule.convention().pass {
        Pass::AsSplit => plan.clone(),
        Pass::Whole => plan.whole(&corpus.examples),
    };
    let views: Vec<GroupPlan> = setup.lanes.iter().map(|rule| view(rule, &first.plan)).collect();
    let group = GroupEvidence {
        examples,
        tolerance: setup.tolerance,
        full: &full,
    };
    let mut checks = vec![checks::same_examples(&group, &views, lanes)];
    for (((index, rule), lane), plan) in (0..).zip(&setup.lanes).zip(lanes).zip(&views) {
        let replicas = plan.replicas;
        let mut oracle = Oracle::new(setup, &network, rule.convention(), replicas);
        let expected = oracle.group(plan, &corpus.examples, &reference.start);
        let gradient = expected.as_ref().map(|expected| expected.gradient.as_slice());
        checks.extend(checks::of_lane(&group, index, *rule, plan, lane, gradient));
        let mut later = Later::new(index, *rule, setup);
        if let Some(row) = &lane.row {
            later.logged(plan, row, expected.as_ref());
        }
        for (number, seen) in course.iter().enumerate() {
            let own = usize::try_from(index).ok().and_then(|i| seen.lanes.get(i + 1));
            let Some((evidence, row)) = own.and_then(|own| own.row.as_ref().map(|row| (own, row))) else {
                continue;
            };
            let plan = view(rule, &seen.plan);
            if (1..looked_at).contains(&number) {
                let expected = oracle.group(&plan, &corpus.examples, &evidence.start);
                later.gradient(row, evidence, expected.as_ref());
            }
            later.follow(&plan, row);
        }
        checks.extend(later.checks(partial));
    }
    Ok(PreflightReport { checks })
}

/// How closely a group is looked at.
#[derive(Clone, Copy, PartialEq)]
enum Depth {
    /// Before it, after each microbatch, and after its update.
    Everything,
    /// Before it and after its update.
    Ends,
    /// At what it reports.
    Row,
}

/// One group; `None` where there was none.
async fn watch(
    session: &mut Session,
    lanes: usize,
    depth: Depth,
    go_on: &impl AsyncFn() -> bool,
) -> Result<Option<Seen>, Fault> {
    let mut evidence: Vec<Evidence> = Vec::new();
    loop {
        match session.advance(false).await? {
            Advance::Began(_) => {
                for lane in 0..lanes {
                    evidence.push(if depth == Depth::Row {
                        Evidence::default()
                    } else {
                        Evidence::at_start(&session.replicas(lane).await?)
                    });
                }
            }
            Advance::Microbatch(_) if depth == Depth::Everything => {
                for (lane, evidence) in evidence.iter_mut().enumerate() {
                    evidence.look(&session.replicas(lane).await?);
                }
            }
            Advance::Microbatch(_) => {}
            Advance::Updated(row) => {
                let row = *row;
                for ((lane, evidence), row) in evidence.iter_mut().enumerate().zip(row.lanes) {
                    let replicas = if depth == Depth::Row {
                        Vec::new()
                    } else {
                        session.replicas(lane).await?
                    };
                    evidence.end(&replicas, row);
                }
                return Ok(Some(Seen {
                    plan: row.plan,
                    lanes: evidence,
                }));
            }
            Advance::Finished => return Ok(None),
        }
        if !go_on().await {
            return Err(Fault::Stopped);
        }
    }
}
