//! All conventions at once: one backward a microbatch, and then only sums of what came out.
//!
//! Every convention that counts each token of a microbatch once is a combination of the same gradients, so one matrix product gives
//! them all. The full batch in one pass, and token weights inside a microbatch, need backwards of their own.
//!
//! The gradients are those of loss sums. In half precision, what a convention's own factor would make overflow or underflow on the way back
//! is therefore left aside.

mod combine;
mod compare;
mod sweep;
mod weights;

use burn::tensor::Tensor;
use web_time::Instant;

use super::{Device, model::Network, numerics::Numerics, readback::Readback};
use crate::{
    batch::{Convention, ConventionId, Example, GroupFacts, GroupPlan, PaddedBatch, TokenWeights, convention::TABLE},
    protocol::{Fault, ProbeReport, ProbeRow},
    setup::{DropoutOrder, Setup},
};
use compare::{Compared, Comparison};
use sweep::Sweep;

/// What is probed.
pub struct Subject<'a> {
    /// Where it is computed; without autodiff.
    pub device: &'a Device,
    /// The network.
    pub network: &'a Network,
    /// Its parameters, which stay as they are.
    pub parameters: &'a Tensor<1>,
    /// Precision, dropout and BatchNorm of lanes that work microbatch by microbatch, in the epoch of the group. Stays as it is: masks that
    /// are due stay due.
    pub split: &'a Numerics,
    /// The same of lanes that take the group in one pass.
    pub whole: &'a Numerics,
    /// Whether the gradient of a microbatch is the sum of those of its rows, each computed by itself. Not so with BatchNorm, whose
    /// rows share statistics, nor where dropout's masks depend on the split. See [`rows_apart`].
    pub rows_apart: bool,
    /// Bytes that the microbatches' gradients may take together: all of them are kept until the end.
    pub memory_limit: u64,
}

/// A group as it is split, and the same examples as one microbatch.
pub struct Group<'a> {
    /// Its counts.
    pub facts: &'a GroupFacts,
    /// Its microbatches, in the order of `facts.microbatches`.
    pub batches: &'a [PaddedBatch],
    /// The counts of the one microbatch, on one replica.
    pub whole_facts: &'a GroupFacts,
    /// That microbatch.
    pub whole: &'a PaddedBatch,
}

/// Whether, under `setup`, the gradient of a microbatch is the sum of those of its rows.
pub fn rows_apart(setup: &Setup) -> bool {
    let drops_by_split = setup
        .dropout
        .is_some_and(|dropout| dropout.order == DropoutOrder::Stream);
    setup.batch_norm.is_none() && !drops_by_split
}

/// Probes the group of `plan`. `applied_updates` are those of the lane whose parameters these are.
pub async fn next_group(
    subject: &Subject<'_>,
    plan: &GroupPlan,
    examples: &[Example],
    applied_updates: u64,
) -> Result<ProbeReport, Fault> {
    let whole = plan.whole(examples);
    let batches = |plan: &GroupPlan| -> Vec<PaddedBatch> {
        let of = plan.microbatches.iter();
        of.map(|k| PaddedBatch::of(examples, &k.ids)).collect()
    };
    let (split, one) = (batches(plan), batches(&whole));
    let empty = PaddedBatch::new(&[]);
    let group = Group {
        facts: &plan.facts(),
        batches: &split,
        whole_facts: &whole.facts(),
        whole: one.first().unwrap_or(&empty),
    };
    let report = probe(subject, &group, plan.number).await?;
    Ok(ProbeReport {
        applied_updates,
        ..report
    })
}

/// Probes one group, of which nothing but its number is told on. [`Fault::MemoryLimit`] where the gradients of all its microbatches take
/// more than the subject allows.
pub async fn probe(subject: &Subject<'_>, group: &Group<'_>, number: u64) -> Result<ProbeReport, Fault> {
    let began = Instant::now();
    refuse_too_many(subject, group, number)?;
    let mut readback = Readback::default();
    let split = Sweep::split(subject, group, &mut readback);
    let weighted = Sweep::weighted(subject, group, TokenWeights::ExampleMean, &split, &mut readback);
    let whole = Sweep::whole(subject, group, &mut readback);
    let sweeps = [split, whole, weighted];
    let combined = sweeps.iter().map(|sweep| {
        let rows: Vec<Vec<f64>> = sweep.conventions().map(|row| sweep.coefficients(row)).collect();
        combine::all(&rows, &sweep.gradients(), subject.parameters)
    });
    let rows = Tensor::cat(combined.collect(), 0);
    let order: Vec<(&Convention, &Sweep<'_>)> = sweeps
        .iter()
        .flat_map(|sweep| sweep.conventions().map(move |row| (row, sweep)))
        .collect();
    let place = |id: ConventionId| order.iter().position(|(row, _)| row.id == id);
    let full = rows.clone().narrow(0, place(ConventionId::FullBatch).unwrap_or(0), 1);
    let comparison = Comparison::ask(&mut readback, rows, full);
    let [forth, back] = combine::both_ways(group.facts, &sweeps[0].gradients(), subject.parameters);
    let noise = Comparison::ask(&mut readback, back, forth);
    let values = readback.read().await?;
    let (compared, full_norm) = comparison.answer(&values);
    let (noise, _) = noise.answer(&values);
    let losses: Vec<f64> = order.iter().map(|(row, sweep)| sweep.loss(row, &values)).collect();
    let full_loss = place(ConventionId::FullBatch)
        .and_then(|i| losses.get(i).copied())
        .unwrap_or(f64::NAN);
    let row = |(convention, at): (&Convention, usize)| -> Option<ProbeRow> {
        let (gradient, &loss) = compared.get(at).zip(losses.get(at))?;
        Some(ProbeRow {
            convention: convention.id,
            gradient_norm: gradient.norm,
            cosine: gradient.cosine,
            relative_l2: gradient.relative_l2,
            norm_ratio: gradient.norm / full_norm,
            loss,
            loss_ratio: loss / full_loss,
        })
    };
    let placed = TABLE
        .iter()
        .filter_map(|convention| Some((convention, place(convention.id)?)));
    Ok(ProbeReport {
        group: number,
        applied_updates: 0,
        supervised_tokens: group.facts.supervised(),
        full_batch_norm: full_norm,
        rows: placed.filter_map(row).collect(),
        noise_floor: noise.first().map_or(f64::NAN, |row: &Compared| row.relative_l2),
        backwards: sweeps.iter().map(Sweep::backwards).sum(),
        elapsed_ms: began.elapsed().as_secs_f64() * 1e3,
    })
}

fn refuse_too_many(subject: &Subject<'_>, group: &Group<'_>, number: u64) -> Result<(), Fault> {
    let [parameters] = subject.parameters.dims();
    let each = (parameters as u64).saturating_mul(size_of::<f32>() as u64);
    let kept = each.saturating_mul(group.batches.len() as u64);
    if kept > subject.memory_limit {
        return Err(Fault::MemoryLimit {
            in_use: kept,
            limit: subject.memory_limit,
            group: number,
        });
    }
    Ok(())
}
