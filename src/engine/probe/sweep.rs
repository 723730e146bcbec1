//! Gradients of some microbatches' loss sums, with one kind of token weights, and the conventions made of them.

use burn::tensor::Tensor;

use super::{
    Group, Subject,
    weights::{Inside, by_row, joined},
};
use crate::{
    batch::{
        Convention, GroupFacts, IGNORE_INDEX, MicrobatchFacts, PaddedBatch, Pass, TokenWeights, convention::TABLE,
    },
    engine::{
        gradient::Forward,
        microbatch::Microbatch,
        numerics::Numerics,
        program::Recorded,
        readback::{Readback, Slot, Values},
    },
};

/// What conventions of one kind are combinations of.
pub(super) struct Sweep<'a> {
    passes: Vec<Pass>,
    weights: TokenWeights,
    group: &'a GroupFacts,
    terms: Vec<Term>,
    /// The same microbatches with other token weights, where their backward gave that too.
    beside: Vec<Option<Term>>,
    backwards: u64,
}

/// The gradient of one microbatch's loss sum, or of several that are all multiplied alike.
#[derive(Clone)]
struct Term {
    /// The microbatch, or any of them.
    facts: MicrobatchFacts,
    /// The weights of all its tokens together, as they are in the gradient.
    mass: f64,
    /// What gradient and sum are multiplied by to have the weights that are meant.
    weight: f64,
    /// `None` where nothing is scored.
    gradient: Option<Tensor<1>>,
    sum: Option<Slot>,
}

impl Term {
    fn of(
        subject: &Subject<'_>,
        numerics: &mut Numerics,
        facts: MicrobatchFacts,
        batch: &PaddedBatch,
        weights: TokenWeights,
        readback: &mut Readback,
    ) -> Self {
        let microbatch = Microbatch::new(subject.device, batch.clone());
        // Masks are drawn whether or not anything is scored, as a loop draws them.
        let mut mode = numerics.mode(subject.network, facts.replica, &microbatch);
        let forward = (facts.supervised > 0)
            .then(|| Forward::new(subject.network, subject.parameters, &microbatch, weights, &mut mode));
        Self {
            facts,
            mass: mass(weights, batch),
            weight: 1.0,
            sum: forward.as_ref().map(|forward| readback.add(&forward.weighted_sum())),
            gradient: forward.map(Forward::backward),
        }
    }

    /// The microbatch with plain weights and with others, from one backward; `None` where that cannot be had, or one of them says all.
    fn both(
        subject: &Subject<'_>,
        numerics: &mut Numerics,
        facts: MicrobatchFacts,
        batch: &PaddedBatch,
        weights: TokenWeights,
        readback: &mut Readback,
    ) -> Option<(Self, Self)> {
        if !gives_both(subject, batch, weights) {
            return None;
        }
        let microbatch = Microbatch::new(subject.device, batch.clone());
        // Masks that are drawn are used, or drawn again by who comes next.
        let mut drawing = numerics.clone();
        let mode = drawing.mode(subject.network, facts.replica, &microbatch);
        let workspace = mode.workspace()?;
        let forward = Recorded::forward(subject.network, subject.parameters, &microbatch, weights, workspace)?;
        *numerics = drawing;
        let [plain_sum, weighted_sum] = [forward.loss_sum(), forward.weighted_sum()].map(|sum| readback.add(&sum));
        let [plain, weighted] = forward.backward_both(&by_row(weights, batch));
        let term = |weights, gradient, sum| Self {
            facts,
            mass: mass(weights, batch),
            weight: 1.0,
            gradient: Some(gradient),
            sum: Some(sum),
        };
        Some((
            term(TokenWeights::Uniform, plain, plain_sum),
            term(weights, weighted, weighted_sum),
        ))
    }
}

/// Whether one backward is to give a microbatch with two kinds of weights.
fn gives_both(subject: &Subject<'_>, batch: &PaddedBatch, weights: TokenWeights) -> bool {
    let possible = subject.rows_apart && subject.split.is_plain() && Recorded::weighs_rows(subject.device);
    possible && Inside::of(weights, batch) == Inside::Mixed
}

/// The weights of all tokens of `batch` together.
fn mass(weights: TokenWeights, batch: &PaddedBatch) -> f64 {
    by_row(weights, batch)
        .iter()
        .zip(batch.labels.chunks(batch.width))
        .map(|(weight, labels)| weight * labels.iter().filter(|label| **label != IGNORE_INDEX).count() as f64)
        .sum()
}

/// Gradients that are kept at most until all are there: those of `group` as it is split, those beside with `other` weights, and those of
/// backwards of their own.
pub(super) fn kept(subject: &Subject<'_>, group: &Group<'_>, other: TokenWeights) -> usize {
    let mixed = |batch: &&PaddedBatch| Inside::of(other, batch) == Inside::Mixed;
    let mixed = group.batches.iter().filter(mixed).count();
    let together = subject.rows_apart && !(subject.split.is_plain() && Recorded::weighs_rows(subject.device));
    let others = if together { mixed.min(1) } else { mixed };
    group.batches.len() + others + usize::from(group.whole.is_some())
}

impl<'a> Sweep<'a> {
    /// Microbatch by microbatch, each token counted once; and what is to be had beside that of `other` weights. `passes` are those of the
    /// conventions that these gradients serve.
    pub(super) fn split(
        subject: &Subject<'_>,
        group: &Group<'a>,
        passes: Vec<Pass>,
        other: TokenWeights,
        readback: &mut Readback,
    ) -> Self {
        let mut sweep = Self::empty(passes, TokenWeights::Uniform, group.facts);
        let mut numerics = subject.split.clone();
        for (&facts, batch) in group.facts.microbatches.iter().zip(group.batches) {
            let both = Term::both(subject, &mut numerics, facts, batch, other, readback);
            let (term, beside) = match both {
                Some((term, beside)) => (term, Some(beside)),
                None => (
                    Term::of(subject, &mut numerics, facts, batch, sweep.weights, readback),
                    None,
                ),
            };
            sweep.push(term);
            sweep.beside.push(beside);
        }
        sweep
    }

    /// A group in one pass, each token counted once.
    pub(super) fn whole(
        subject: &Subject<'_>,
        (facts, batch): (&'a GroupFacts, &PaddedBatch),
        readback: &mut Readback,
    ) -> Self {
        let mut sweep = Self::empty(vec![Pass::Whole], TokenWeights::Uniform, facts);
        let mut numerics = subject.whole.clone();
        for &facts in &facts.microbatches {
            sweep.push(Term::of(subject, &mut numerics, facts, batch, sweep.weights, readback));
        }
        sweep
    }

    /// With other weights, given the plain gradients. A microbatch whose tokens all weigh the same has its plain gradient, times that
    /// weight. Of the others some came beside the plain ones, and the rest need backwards of their own: one for all of them together
    /// where every convention of the kind multiplies all microbatches alike, for then their sum is one over rows.
    pub(super) fn weighted(
        subject: &Subject<'_>,
        group: &Group<'a>,
        weights: TokenWeights,
        plain: &Self,
        readback: &mut Readback,
    ) -> Self {
        let mut sweep = Self::empty(vec![Pass::AsSplit], weights, group.facts);
        let alike = of_kind(&[Pass::AsSplit], weights).all(|row| multiplies_alike(row, group.facts));
        let at_once = alike && subject.rows_apart;
        let mut numerics = subject.split.clone();
        let mut mixed: Vec<(MicrobatchFacts, &PaddedBatch)> = Vec::new();
        for ((term, beside), batch) in plain.terms.iter().zip(&plain.beside).zip(group.batches) {
            if let Some(beside) = beside {
                sweep.terms.push(beside.clone());
                continue;
            }
            let inside = Inside::of(weights, batch);
            if inside == Inside::Mixed && !at_once {
                sweep.push(Term::of(subject, &mut numerics, term.facts, batch, weights, readback));
                continue;
            }
            match inside {
                Inside::Nothing => {}
                Inside::All(weight) => sweep.terms.push(Term { weight, ..term.clone() }),
                Inside::Mixed => mixed.push((term.facts, batch)),
            }
            if !subject.rows_apart {
                // Its masks are drawn all the same, so that the next microbatch gets its own.
                let microbatch = Microbatch::new(subject.device, batch.clone());
                numerics.mode(subject.network, term.facts.replica, &microbatch);
            }
        }
        if let Some(&(any, _)) = mixed.first() {
            let batches: Vec<&PaddedBatch> = mixed.iter().map(|(_, batch)| *batch).collect();
            sweep.push(Term::of(
                subject,
                &mut numerics,
                any,
                &joined(&batches),
                weights,
                readback,
            ));
        }
        sweep
    }

    fn empty(passes: Vec<Pass>, weights: TokenWeights, group: &'a GroupFacts) -> Self {
        Self {
            passes,
            weights,
            group,
            terms: Vec::new(),
            beside: Vec::new(),
            backwards: 0,
        }
    }

    fn push(&mut self, term: Term) {
        self.backwards += u64::from(term.gradient.is_some());
        self.terms.push(term);
    }

    /// The gradients, one a term; `None` where nothing is scored.
    pub(super) fn gradients(&self) -> Vec<Option<Tensor<1>>> {
        self.terms.iter().map(|term| term.gradient.clone()).collect()
    }

    /// The conventions that are combinations of these gradients, in the table's order.
    pub(super) fn conventions(&self) -> impl Iterator<Item = &'static Convention> {
        of_kind(&self.passes, self.weights)
    }

    /// The weights of all tokens that stand behind each of these gradients.
    pub(super) fn masses(&self) -> Vec<f64> {
        self.terms.iter().map(|term| term.mass).collect()
    }

    /// What `convention` multiplies each of these gradients by, the mean over replicas included.
    pub(super) fn coefficients(&self, convention: &Convention) -> Vec<f64> {
        let replicas = f64::from(self.group.replicas);
        let of = |term: &Term| term.weight * convention.coefficient(self.group, &term.facts) / replicas;
        self.terms.iter().map(of).collect()
    }

    /// What `convention` back-propagates, summed over microbatches and averaged over replicas.
    pub(super) fn loss(&self, convention: &Convention, values: &Values) -> f64 {
        let of = |term: &Term| {
            let sum = term.sum.map_or(0.0, |slot| values.one(slot));
            convention.backpropagated_loss(self.group, &term.facts, term.weight * sum)
        };
        self.terms.iter().map(of).sum::<f64>() / f64::from(self.group.replicas)
    }

    /// Backwards it took.
    pub(super) fn backwards(&self) -> u64 {
        self.backwards
    }
}

fn of_kind(passes: &[Pass], weights: TokenWeights) -> impl Iterator<Item = &'static Convention> {
    TABLE
        .iter()
        .filter(move |row| passes.contains(&row.pass) && row.token_weights == weights)
}

fn multiplies_alike(convention: &Convention, group: &GroupFacts) -> bool {
    let scored = group.microbatches.iter().filter(|k| k.supervised > 0);
    let mut coefficients = scored.map(|k| convention.coefficient(group, k).to_bits());
    let first = coefficients.next();
    coefficients.all(|other| Some(other) == first)
}
