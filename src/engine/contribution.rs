//! What one microbatch adds to its replica's `.grad`, and what follows once all replicas have added theirs.

use burn::tensor::Tensor;

use super::{clip::clip, gradient::Forward, lane::Lane};
use crate::{
    batch::{
        GroupFacts, MicrobatchFacts,
        no_sync::SyncMode,
        weighing::{Scale, Weighing},
    },
    setup::{Injection, Precision},
};

impl Lane {
    /// The factors of the present group.
    pub(super) fn weighing(&self) -> Weighing<'_> {
        Weighing {
            convention: self.convention,
            recipe: &self.recipe,
            scale: self.scaler.as_ref().map(|scaler| Scale {
                scale: scaler.scale(),
                growth_factor: scaler.growth_factor(),
            }),
            // Half precision overflows and underflows in the backward.
            before_backward: self.settings.precision == Precision::F16,
            carried: self.group.carried,
        }
    }

    /// Adds what the backward of `forward` gives, if it is due. `None` is a microbatch of which nothing is computed:
    /// without a supervised token it has a gradient of zeros, not none.
    pub(super) fn contribute(&mut self, forward: Option<Forward>, k: &MicrobatchFacts, facts: &GroupFacts) {
        match forward {
            Some(forward) if self.adds_straight(k, facts) => {
                let factor = self.weighing().of_loss(facts, k);
                self.counters.backwards += 1;
                let sum = self.replicas.take_gradient(k.replica);
                self.replicas.accumulate(k.replica, forward.add_to(sum, factor));
            }
            forward => self.contribute_part(forward, k, facts),
        }
    }

    /// Whether a backward may add to `.grad` itself: nothing happens to what it gives in between.
    fn adds_straight(&self, k: &MicrobatchFacts, facts: &GroupFacts) -> bool {
        let weighing = self.weighing();
        let clips =
            self.settings.clip_norm.is_some() && weighing.clips_contribution(weighing.place(k.index, facts)).is_some();
        self.convention.keeps(facts, k)
            && !clips
            && !self.accumulates_losses()
            && !weighing.enters_before()
            && !self.injects(k)
    }

    fn contribute_part(&mut self, forward: Option<Forward>, k: &MicrobatchFacts, facts: &GroupFacts) {
        let contribution = self.contribution(forward, k, facts);
        // What is cleared away is nothing, not 0 times what it was: 0 times an infinity would stay.
        if !self.convention.keeps(facts, k) {
            return;
        }
        match self.with_injection(contribution, k) {
            Some(contribution) => {
                let contribution = self.clip_contribution(contribution, k, facts);
                self.replicas.accumulate(k.replica, contribution);
            }
            None if k.supervised == 0 => self.replicas.hold_zeros(k.replica),
            None => {}
        }
    }

    /// What a backward adds to `.grad`; `None` for nothing, or nothing yet.
    fn contribution(&mut self, forward: Option<Forward>, k: &MicrobatchFacts, facts: &GroupFacts) -> Option<Tensor<1>> {
        let weighing = self.weighing();
        let (factor, before) = (weighing.of_loss(facts, k), weighing.enters_before());
        if !self.accumulates_losses() {
            let forward = forward?;
            self.counters.backwards += 1;
            return if before {
                Forward::backward_together(vec![(forward, factor)])
            } else {
                Some(forward.backward() * factor)
            };
        }
        let waiting = &mut self.group.together;
        let kept = self.convention.keeps(facts, k);
        waiting.extend(forward.filter(|_| kept).map(|forward| (k.replica, forward, factor)));
        if !facts.is_last_on_replica(k) {
            return None;
        }
        let all = std::mem::take(waiting).into_iter();
        let (own, others): (Vec<_>, Vec<_>) = all.partition(|(replica, ..)| *replica == k.replica);
        self.group.together = others;
        let due: Vec<_> = own.into_iter().map(|(_, forward, factor)| (forward, factor)).collect();
        self.counters.backwards += u64::from(!due.is_empty());
        Forward::backward_together(due)
    }

    /// Whether its losses are summed before one backward.
    fn accumulates_losses(&self) -> bool {
        self.recipe.sync == SyncMode::SingleBackward && !self.recipe.step.inside()
    }

    /// Whether an infinity is put into what this microbatch contributes.
    fn injects(&self, k: &MicrobatchFacts) -> bool {
        let attempt = self.counters.update_attempts + 1;
        let here = |at: &Injection| (at.attempt, at.microbatch, at.replica) == (attempt, k.index + 1, k.replica + 1);
        self.settings.inject_inf.iter().any(here)
    }

    fn with_injection(&self, contribution: Option<Tensor<1>>, k: &MicrobatchFacts) -> Option<Tensor<1>> {
        if !self.injects(k) {
            return contribution;
        }
        let parameters = self.replicas.parameters(k.replica);
        let mut values = vec![0.0f32; parameters.dims()[0]];
        values.iter_mut().take(1).for_each(|value| *value = f32::INFINITY);
        let infinite = Tensor::from_floats(&values[..], &parameters.device());
        Some(contribution.map_or(infinite.clone(), |contribution| contribution + infinite))
    }

    fn clip_contribution(&mut self, contribution: Tensor<1>, k: &MicrobatchFacts, facts: &GroupFacts) -> Tensor<1> {
        let weighing = self.weighing();
        let ratio = weighing.clips_contribution(weighing.place(k.index, facts));
        let (Some(ratio), Some(max)) = (ratio, self.settings.clip_norm) else {
            return contribution;
        };
        let (clipped, seen) = clip(contribution, max, ratio);
        if k.replica == 0 {
            self.group.norms.push(seen);
        }
        clipped
    }

    /// What follows once every replica is done with its microbatch of `index`.
    pub(super) fn close(&mut self, index: u32, facts: &GroupFacts) {
        let weighing = self.weighing();
        let place = weighing.place(index, facts);
        let (divisor, ratio) = (weighing.divided_after(place), weighing.clips_running(place));
        if self.recipe.sync.reduces(place.index, place.accumulation) {
            self.all_reduce();
        }
        if let Some(divisor) = divisor {
            self.replicas.change_gradients(|_, gradient| gradient / divisor);
        }
        self.clip_gradients(ratio);
        if self.recipe.zero_grad.after_backward() {
            self.replicas.clear_all();
        }
    }

    /// Clips every replica's `.grad`, if the loop does so here: `ratio` is how much larger what it clips is.
    pub(super) fn clip_gradients(&mut self, ratio: Option<f64>) {
        let (Some(ratio), Some(max)) = (ratio, self.settings.clip_norm) else {
            return;
        };
        let norms = &mut self.group.norms;
        self.replicas.change_gradients(|replica, gradient| {
            let (clipped, seen) = clip(gradient, max, ratio);
            if replica == 0 {
                norms.push(seen);
            }
            clipped
        });
    }

    /// One process has nobody to exchange gradients with.
    fn all_reduce(&mut self) {
        if self.replicas.count() > 1 {
            self.counters.all_reduces += 1;
            self.counters.all_reduced_bytes += 4 * self.parameters(0).dims()[0] as u64;
        }
        self.replicas.all_reduce();
    }
}
