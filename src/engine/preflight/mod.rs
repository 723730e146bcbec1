//! A check before a campaign: one update of a small controlled set, with the person's own data, model, lanes and faults, held against
//! what must come out.
//!
//! m, A and D are at most 2 each, so that the full batch in one pass is cheap beside it. The examples are chosen from those with few
//! supervised tokens to those with many, so that a wrong denominator shows.

mod checks;
mod controlled;
mod evidence;
mod oracle;

use super::{Advance, Device, Session, model::Network};
use crate::{
    batch::{GroupPlan, LaneRule, PaddedBatch, Pass},
    data::Corpus,
    protocol::{Fault, PreflightReport},
    setup::Setup,
};
use evidence::{Evidence, GroupEvidence};

/// Runs it. A setup that cannot be built is refused as a run refuses it; whatever goes wrong inside the update is a failed check.
///
/// What cannot be checked is left out of the list: replicas and all-reduces where one replica works, and the f64 oracle in half precision,
/// where f32 and f64 may round to different neighbours.
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
    let small = controlled::setup(setup, split);
    let corpus = Corpus {
        examples: controlled::examples(corpus, size),
        ..corpus.clone()
    };
    let network = Network::of(setup, corpus.vocabulary.size());
    let mut session = Session::new(device, &small, corpus.clone())?;
    session.keep_gradients();
    let Some((plan, evidence)) = watch(&mut session, small.lanes.len(), go_on).await? else {
        return Ok(PreflightReport { checks: Vec::new() });
    };
    let whole = plan.whole(&corpus.examples);
    // The first lane is the full batch that the others are compared with.
    let Some((reference, lanes)) = evidence.split_first() else {
        return Ok(PreflightReport { checks: Vec::new() });
    };
    let full = reference.gradients.first().cloned().unwrap_or_default();
    let view = |rule: &LaneRule| match rule.convention().pass {
        Pass::AsSplit => &plan,
        Pass::Whole => &whole,
    };
    let views: Vec<&GroupPlan> = setup.lanes.iter().map(view).collect();
    let group = GroupEvidence {
        examples: corpus.examples.len() as u64,
        tolerance: setup.tolerance,
        full: &full,
    };
    let mut checks = vec![checks::same_examples(&group, &views, lanes)];
    for (((index, rule), lane), view) in (0..).zip(&setup.lanes).zip(lanes).zip(views) {
        let batches: Vec<PaddedBatch> = view
            .microbatches
            .iter()
            .map(|k| PaddedBatch::of(&corpus.examples, &k.ids))
            .collect();
        let expected = oracle::gradient(setup, &network, rule.convention(), view, &batches, &reference.start);
        checks.extend(checks::of_lane(&group, index, *rule, view, lane, expected.as_deref()));
    }
    Ok(PreflightReport { checks })
}

/// One group, looked at before it, after each microbatch, and after its update; `None` where there was none.
async fn watch(
    session: &mut Session,
    lanes: usize,
    go_on: &impl AsyncFn() -> bool,
) -> Result<Option<(GroupPlan, Vec<Evidence>)>, Fault> {
    let mut evidence = Vec::new();
    loop {
        match session.advance(false).await? {
            Advance::Began(_) => {
                for lane in 0..lanes {
                    evidence.push(Evidence::at_start(&session.replicas(lane).await?));
                }
            }
            Advance::Microbatch(_) => {
                for (lane, evidence) in evidence.iter_mut().enumerate() {
                    evidence.look(&session.replicas(lane).await?);
                }
            }
            Advance::Updated(row) => {
                let row = *row;
                for ((lane, evidence), row) in evidence.iter_mut().enumerate().zip(row.lanes) {
                    evidence.end(&session.replicas(lane).await?, row);
                }
                return Ok(Some((row.plan, evidence)));
            }
            Advance::Finished => return Ok(None),
        }
        if !go_on().await {
            return Err(Fault::Stopped);
        }
    }
}
