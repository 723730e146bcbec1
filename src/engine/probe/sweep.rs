//! A forward and a backward of each of some microbatches, with one kind of token weights, and the conventions made of them.

use burn::tensor::Tensor;

use super::{Group, Subject};
use crate::{
    batch::{Convention, GroupFacts, MicrobatchFacts, PaddedBatch, Pass, TokenWeights, convention::TABLE},
    engine::{
        gradient::Forward,
        microbatch::Microbatch,
        readback::{Readback, Slot, Values},
    },
};

/// The gradients of some microbatches' loss sums, and those sums.
pub(super) struct Sweep<'a> {
    pass: Pass,
    weights: TokenWeights,
    group: &'a GroupFacts,
    /// One entry a microbatch that was computed.
    terms: Vec<MicrobatchFacts>,
    /// Their gradients; `None` where nothing is scored.
    pub(super) gradients: Vec<Option<Tensor<1>>>,
    sums: Vec<Option<Slot>>,
}

impl<'a> Sweep<'a> {
    /// Microbatch by microbatch.
    pub(super) fn split(
        subject: &Subject<'_>,
        group: &Group<'a>,
        weights: TokenWeights,
        readback: &mut Readback,
    ) -> Self {
        let terms = group.facts.microbatches.clone();
        Self::compute(
            subject,
            (Pass::AsSplit, weights),
            group.facts,
            terms,
            group.batches,
            readback,
        )
    }

    /// The group in one pass, each token counted once.
    pub(super) fn whole(subject: &Subject<'_>, group: &Group<'a>, readback: &mut Readback) -> Self {
        let terms = group.whole_facts.microbatches.clone();
        let kind = (Pass::Whole, TokenWeights::Uniform);
        let batch = std::slice::from_ref(group.whole);
        Self::compute(subject, kind, group.whole_facts, terms, batch, readback)
    }

    /// With other weights: where each convention of that kind multiplies all microbatches of the group alike, the sum over microbatches
    /// is one over the group's rows, and one pass gives it.
    pub(super) fn weighted(
        subject: &Subject<'_>,
        group: &Group<'a>,
        weights: TokenWeights,
        readback: &mut Readback,
    ) -> Self {
        let scored = group.facts.microbatches.iter().find(|k| k.supervised > 0);
        let alike = of_kind(Pass::AsSplit, weights).all(|row| multiplies_alike(row, group.facts));
        match scored {
            Some(&any) if alike && subject.rows_apart => {
                let kind = (Pass::AsSplit, weights);
                let batch = std::slice::from_ref(group.whole);
                Self::compute(subject, kind, group.facts, vec![any], batch, readback)
            }
            _ => Self::split(subject, group, weights, readback),
        }
    }

    fn compute(
        subject: &Subject<'_>,
        (pass, weights): (Pass, TokenWeights),
        group: &'a GroupFacts,
        terms: Vec<MicrobatchFacts>,
        batches: &[PaddedBatch],
        readback: &mut Readback,
    ) -> Self {
        let mut sweep = Self {
            pass,
            weights,
            group,
            terms,
            gradients: Vec::new(),
            sums: Vec::new(),
        };
        for (k, batch) in sweep.terms.iter().zip(batches) {
            let forward = (k.supervised > 0).then(|| {
                let microbatch = Microbatch::new(subject.device, batch.clone());
                Forward::new(subject.network, subject.parameters, &microbatch, weights)
            });
            let sum = forward.as_ref().map(|forward| readback.add(&forward.weighted_sum()));
            sweep.sums.push(sum);
            sweep.gradients.push(forward.map(Forward::backward));
        }
        sweep
    }

    /// The conventions that are combinations of these gradients, in the table's order.
    pub(super) fn conventions(&self) -> impl Iterator<Item = &'static Convention> + use<> {
        of_kind(self.pass, self.weights)
    }

    /// What `convention` multiplies each of these gradients by, the mean over replicas included.
    pub(super) fn coefficients(&self, convention: &Convention) -> Vec<f64> {
        let replicas = f64::from(self.group.replicas);
        let of = self.terms.iter();
        of.map(|k| convention.coefficient(self.group, k) / replicas).collect()
    }

    /// What `convention` back-propagates, summed over microbatches and averaged over replicas.
    pub(super) fn loss(&self, convention: &Convention, values: &Values) -> f64 {
        let sums = self.sums.iter().map(|slot| slot.map_or(0.0, |slot| values.one(slot)));
        let losses = self.terms.iter().zip(sums);
        let total: f64 = losses
            .map(|(k, sum)| convention.backpropagated_loss(self.group, k, sum))
            .sum();
        total / f64::from(self.group.replicas)
    }

    /// Backwards it took.
    pub(super) fn backwards(&self) -> u64 {
        self.gradients.iter().flatten().count() as u64
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
