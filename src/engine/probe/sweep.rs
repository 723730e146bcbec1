//! Gradients of some microbatches' loss sums, with one kind of token weights, and the conventions made of them.

use burn::tensor::Tensor;

use super::{
    Group, Subject,
    weights::{Inside, joined},
};
use crate::{
    batch::{Convention, GroupFacts, MicrobatchFacts, PaddedBatch, Pass, TokenWeights, convention::TABLE},
    engine::{
        gradient::Forward,
        microbatch::Microbatch,
        numerics::Numerics,
        readback::{Readback, Slot, Values},
    },
};

/// What conventions of one kind are combinations of.
pub(super) struct Sweep<'a> {
    pass: Pass,
    weights: TokenWeights,
    group: &'a GroupFacts,
    terms: Vec<Term>,
    backwards: u64,
}

/// The gradient of one microbatch's loss sum, or of several that are all multiplied alike.
#[derive(Clone)]
struct Term {
    /// The microbatch, or any of them.
    facts: MicrobatchFacts,
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
            weight: 1.0,
            sum: forward.as_ref().map(|forward| readback.add(&forward.weighted_sum())),
            gradient: forward.map(Forward::backward),
        }
    }
}

impl<'a> Sweep<'a> {
    /// Microbatch by microbatch, each token counted once.
    pub(super) fn split(subject: &Subject<'_>, group: &Group<'a>, readback: &mut Readback) -> Self {
        let mut sweep = Self::empty(Pass::AsSplit, TokenWeights::Uniform, group.facts);
        let mut numerics = subject.split.clone();
        for (&facts, batch) in group.facts.microbatches.iter().zip(group.batches) {
            sweep.push(Term::of(subject, &mut numerics, facts, batch, sweep.weights, readback));
        }
        sweep
    }

    /// The group in one pass, each token counted once.
    pub(super) fn whole(subject: &Subject<'_>, group: &Group<'a>, readback: &mut Readback) -> Self {
        let mut sweep = Self::empty(Pass::Whole, TokenWeights::Uniform, group.whole_facts);
        let mut numerics = subject.whole.clone();
        for &facts in &group.whole_facts.microbatches {
            sweep.push(Term::of(
                subject,
                &mut numerics,
                facts,
                group.whole,
                sweep.weights,
                readback,
            ));
        }
        sweep
    }

    /// With other weights, given the plain gradients. A microbatch whose tokens all weigh the same has its plain gradient, times that
    /// weight. The others need backwards of their own: one for all of them together where every convention of the kind multiplies all
    /// microbatches alike, for then their sum is one over rows.
    pub(super) fn weighted(
        subject: &Subject<'_>,
        group: &Group<'a>,
        weights: TokenWeights,
        plain: &Self,
        readback: &mut Readback,
    ) -> Self {
        let mut sweep = Self::empty(Pass::AsSplit, weights, group.facts);
        let alike = of_kind(Pass::AsSplit, weights).all(|row| multiplies_alike(row, group.facts));
        let at_once = alike && subject.rows_apart;
        let mut numerics = subject.split.clone();
        let mut mixed: Vec<(MicrobatchFacts, &PaddedBatch)> = Vec::new();
        for (term, batch) in plain.terms.iter().zip(group.batches) {
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

    fn empty(pass: Pass, weights: TokenWeights, group: &'a GroupFacts) -> Self {
        Self {
            pass,
            weights,
            group,
            terms: Vec::new(),
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
    pub(super) fn conventions(&self) -> impl Iterator<Item = &'static Convention> + use<> {
        of_kind(self.pass, self.weights)
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

fn of_kind(pass: Pass, weights: TokenWeights) -> impl Iterator<Item = &'static Convention> + use<> {
    TABLE
        .iter()
        .filter(move |row| row.pass == pass && row.token_weights == weights)
}

fn multiplies_alike(convention: &Convention, group: &GroupFacts) -> bool {
    let scored = group.microbatches.iter().filter(|k| k.supervised > 0);
    let mut coefficients = scored.map(|k| convention.coefficient(group, k).to_bits());
    let first = coefficients.next();
    coefficients.all(|other| Some(other) == first)
}
