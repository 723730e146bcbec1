//! All conventions at once: one backward a microbatch, and then only sums of what came out.
//!
//! Every convention that counts each token of a microbatch once is a combination of the same gradients, so one matrix product gives
//! them all, and those that are multiples of each other are looked at once. Where rows do not see each other, token weights that are the
//! same along a row come out of the same backward, and the full batch is the sum of what is there: that one pass gives the same is
//! computed only where it is asked for. Else both need backwards of their own.
//!
//! The gradients are those of loss sums. In half precision, what a convention's own factor would make overflow or underflow on the way back
//! is therefore left aside.

mod combine;
mod compare;
mod direction;
mod sums;
mod sweep;
#[cfg(feature = "cpu")]
mod walk;
mod weights;

use burn::tensor::Tensor;
use web_time::Instant;

use super::{Device, model::Network, numerics::Numerics, readback::Readback};
use crate::{
    batch::{
        Convention, ConventionId, Example, GroupFacts, GroupPlan, PaddedBatch, Pass, TokenWeights, convention::TABLE,
    },
    protocol::{Fault, FullBatch, ProbeReport, ProbeRow},
    setup::{DropoutOrder, Setup},
};
use direction::Directions;
use sums::{Sums, Task};
use sweep::Sweep;

/// The token weights of conventions that do not count each token of a microbatch once.
const OTHER_WEIGHTS: TokenWeights = TokenWeights::ExampleMean;

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
    /// The counts of the one microbatch, on one replica, and that microbatch. `None` where the full batch is to be the sum of the
    /// microbatches; they must be there where a subject's rows are not apart.
    pub whole: Option<(&'a GroupFacts, &'a PaddedBatch)>,
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
    full_batch: FullBatch,
    applied_updates: u64,
) -> Result<ProbeReport, Fault> {
    let batches = |plan: &GroupPlan| -> Vec<PaddedBatch> {
        let of = plan.microbatches.iter();
        of.map(|k| PaddedBatch::of(examples, &k.ids)).collect()
    };
    let in_one_pass = full_batch == FullBatch::InOnePass || !subject.rows_apart;
    let whole = in_one_pass.then(|| plan.whole(examples));
    let whole = whole.map(|whole| {
        (
            whole.facts(),
            batches(&whole).pop().unwrap_or_else(|| PaddedBatch::new(&[])),
        )
    });
    let group = Group {
        facts: &plan.facts(),
        batches: &batches(plan),
        whole: whole.as_ref().map(|(facts, batch)| (facts, batch)),
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
    let sweeps = sweeps(subject, group, &mut readback);
    let gradients: Vec<Vec<Option<Tensor<1>>>> = sweeps.iter().map(Sweep::gradients).collect();
    let asked = Asked::of(&sweeps);
    let task = Task {
        directions: &asked.directions,
        reference: asked.full.0,
        gradients: &gradients,
        group: group.facts,
        parameters: subject.parameters,
    };
    let sums = Sums::ask(&task, &mut readback);
    let values = readback.read().await?;
    let (compared, noise_floor) = sums.answer(&values);
    let losses: Vec<f64> = asked.rows.iter().map(|(row, sweep)| sweep.loss(row, &values)).collect();
    let full_norm = compared
        .get(asked.full.0)
        .map_or(f64::NAN, |full| full.norm(asked.full.1));
    let full_loss = asked.place(ConventionId::FullBatch).map_or(f64::NAN, |at| losses[at]);
    let row = |convention: &Convention| -> Option<ProbeRow> {
        let at = asked.place(convention.id)?;
        let (direction, scale) = asked.directions.rows[at];
        let (gradient, loss) = (compared.get(direction)?, losses[at]);
        let relative = scale / asked.full.1;
        Some(ProbeRow {
            convention: convention.id,
            gradient_norm: gradient.norm(scale),
            cosine: gradient.cosine(relative),
            relative_l2: gradient.relative_l2(relative),
            norm_ratio: gradient.norm(scale) / full_norm,
            loss,
            loss_ratio: loss / full_loss,
        })
    };
    Ok(ProbeReport {
        group: number,
        applied_updates: 0,
        supervised_tokens: group.facts.supervised(),
        full_batch: if group.whole.is_some() {
            FullBatch::InOnePass
        } else {
            FullBatch::AsSum
        },
        full_batch_norm: full_norm,
        rows: TABLE.iter().filter_map(row).collect(),
        noise_floor,
        backwards: sweeps.iter().map(Sweep::backwards).sum(),
        elapsed_ms: began.elapsed().as_secs_f64() * 1e3,
    })
}

/// All gradients that conventions are made of; those of the microbatches first.
fn sweeps<'a>(subject: &Subject<'_>, group: &Group<'a>, readback: &mut Readback) -> Vec<Sweep<'a>> {
    let weights = OTHER_WEIGHTS;
    let passes = match group.whole {
        Some(_) => vec![Pass::AsSplit],
        None => vec![Pass::AsSplit, Pass::Whole],
    };
    let split = Sweep::split(subject, group, passes, weights, readback);
    let weighted = Sweep::weighted(subject, group, weights, &split, readback);
    let whole = group.whole.map(|whole| Sweep::whole(subject, whole, readback));
    [split, weighted].into_iter().chain(whole).collect()
}

/// Which conventions are to be told, and what they are multiples of.
struct Asked<'s, 'a> {
    rows: Vec<(&'static Convention, &'s Sweep<'a>)>,
    directions: Directions,
    /// The full batch's direction, and what that is multiplied by.
    full: (usize, f64),
}

impl<'s, 'a> Asked<'s, 'a> {
    fn of(sweeps: &'s [Sweep<'a>]) -> Self {
        let masses: Vec<f64> = sweeps.iter().flat_map(Sweep::masses).collect();
        let mut rows = Vec::new();
        let mut coefficients = Vec::new();
        let mut before = 0;
        for (part, sweep) in sweeps.iter().enumerate() {
            let own = sweep.masses().len();
            for convention in sweep.conventions() {
                let mut row = vec![0.0; masses.len()];
                row[before..before + own].copy_from_slice(&sweep.coefficients(convention));
                coefficients.push((part, row));
                rows.push((convention, sweep));
            }
            before += own;
        }
        let directions = Directions::of(&coefficients, &masses);
        let full = rows.iter().position(|(row, _)| row.id == ConventionId::FullBatch);
        let full = full.map_or((0, 1.0), |at| directions.rows[at]);
        Self { rows, directions, full }
    }

    /// Where a convention stands in `rows`.
    fn place(&self, id: ConventionId) -> Option<usize> {
        self.rows.iter().position(|(row, _)| row.id == id)
    }
}

fn refuse_too_many(subject: &Subject<'_>, group: &Group<'_>, number: u64) -> Result<(), Fault> {
    let [parameters] = subject.parameters.dims();
    let each = (parameters as u64).saturating_mul(size_of::<f32>() as u64);
    let gradients = sweep::kept(subject, group, OTHER_WEIGHTS);
    let kept = each.saturating_mul((gradients + sums::copied(subject.device, gradients)) as u64);
    if kept > subject.memory_limit {
        return Err(Fault::MemoryLimit {
            in_use: kept,
            limit: subject.memory_limit,
            group: number,
        });
    }
    Ok(())
}
