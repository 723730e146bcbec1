//! How a lane ends a group: reduce, unscale, clip, optimizer, zero; and what is taken back once the gradient is known.

use burn::tensor::Tensor;

use super::{lane::Lane, replica::Replicas};
use crate::{
    batch::{
        GroupFacts, GroupPlan,
        recipe::{Horizon, OptimizerStep, Tail},
        scaler::{self, Scaler, ScalerError},
        scheduler_clock::Clock,
    },
    protocol::{Outcome, ScaleRow},
};

/// A group as a lane has worked through it, still on the device.
pub struct Reduced {
    /// The gradient of replica 0, which every replica gets unless the loop is wrong: unscaled, not yet clipped.
    pub gradient: Tensor<1>,
    /// Those of the other replicas, where they hold different ones.
    pub others: Vec<Tensor<1>>,
    /// S of each microbatch, in order; `None` where nothing is scored.
    pub sums: Vec<Option<Tensor<1>>>,
    /// The same, weighted as the convention says; empty where it says nothing.
    pub weighted: Vec<Option<Tensor<1>>>,
    /// Every norm that a clip saw on replica 0.
    pub norms: Vec<Tensor<1>>,
    /// Replica 0's parameters as the first forward and as the last backward saw them.
    pub seen: (Tensor<1>, Tensor<1>),
}

/// An update that may still be taken back.
pub struct Attempt {
    /// The learning rate used.
    pub rate: f64,
    /// The loss scale used.
    pub scale: Option<f64>,
    /// Whether it is the group's last one.
    last: bool,
    before: Result<Replicas, ScalerError>,
}

/// How a group ended on the device.
pub enum Ending {
    /// With an update.
    Attempted(Attempt),
    /// With gradients that wait for a later update.
    Carried,
    /// Nothing was computed.
    Skipped(Outcome),
}

impl Lane {
    /// Ends the accumulation. Gives replica 0's gradient, and the others' where they differ.
    pub(super) fn reduce(&mut self, facts: &GroupFacts) -> (Tensor<1>, Vec<Tensor<1>>) {
        self.close(facts.accumulation().saturating_sub(1), facts);
        let factor = self.weighing().at_end(facts);
        if factor.to_bits() != 1.0f64.to_bits() {
            self.replicas.change_gradients(|_, gradient| gradient * factor);
        }
        let alone = if self.replicas.agreed() { 1 } else { usize::MAX };
        let mut gradients = self.replicas.gradients().take(alone);
        let first = gradients.next().unwrap_or_else(|| self.parameters(0).zeros_like());
        (first, gradients.collect())
    }

    /// What was seen on the way, which ends the group.
    pub(super) fn reduced(&mut self, gradient: Tensor<1>, others: Vec<Tensor<1>>) -> Reduced {
        let group = std::mem::take(&mut self.group);
        let now = || (self.parameters(0).clone(), self.parameters(0).clone());
        Reduced {
            gradient,
            others,
            sums: group.sums,
            weighted: group.weighted,
            norms: group.norms,
            seen: group.seen.unwrap_or_else(now),
        }
    }

    /// Ends a group: reduces and updates, or does what its loop does with a partial one, or with one that it did not work on.
    pub fn end(&mut self, plan: &GroupPlan, facts: &GroupFacts) -> (Reduced, Ending) {
        if !self.works_on(plan) {
            let skipped = self.skip(plan);
            let zeros = self.parameters(0).zeros_like();
            return (self.reduced(zeros, Vec::new()), Ending::Skipped(skipped));
        }
        self.numerics.rest();
        let processed = self.tail(plan) == Tail::Processed;
        let ending = processed.then(|| self.weighing().place(0, facts).accumulation);
        let (gradient, others) = self.reduce(facts);
        let ending = ending.map_or(Ending::Carried, |accumulation| {
            Ending::Attempted(self.attempt(accumulation, true))
        });
        (self.reduced(gradient, others), ending)
    }

    /// The update that is due inside a group. Gives the gradients of replica 0 and of those that differ from it.
    pub fn step_inside(&mut self, facts: &GroupFacts) -> (Vec<Tensor<1>>, Attempt) {
        let (first, mut gradients) = self.reduce(facts);
        gradients.insert(0, first);
        let attempt = self.attempt(1, false);
        (gradients, attempt)
    }

    /// One update with the reduced gradient. Whether the gradient was finite is known only when it is read back, so the update can
    /// be taken back.
    fn attempt(&mut self, accumulation: u32, last: bool) -> Attempt {
        self.counters.update_attempts += 1;
        let rate = self.rate(accumulation);
        let scale = self.scaler.as_ref().map(Scaler::scale);
        let before = self.refused(accumulation).map_or(Ok(self.replicas.clone()), Err);
        if before.is_ok() {
            let ratio = self.weighing().clips_group();
            self.clip_gradients(ratio);
            if self.recipe.step == OptimizerStep::MovesSummed {
                self.replicas.apply_later(rate);
            } else {
                self.replicas.apply(rate);
            }
            if last {
                self.make_moves();
            }
            self.counters.applied_updates += 1;
        }
        if self.stepped.is_some() {
            self.stepped = Some(self.replicas.gradients().collect());
        }
        if self.recipe.zero_grad.after_update() {
            self.replicas.clear_all();
        }
        Attempt {
            rate,
            scale,
            last,
            before,
        }
    }

    fn make_moves(&mut self) {
        if self.recipe.step == OptimizerStep::MovesSummed {
            self.replicas.make_moves();
        }
    }

    /// What the loss scaler refuses whatever the gradient.
    fn refused(&self, accumulation: u32) -> Option<ScalerError> {
        let unscales = self.weighing().unscales(accumulation);
        self.scaler.as_ref()?.refusal(unscales, self.replicas.hold_any())
    }

    /// The rate that is due.
    pub fn rate(&self, accumulation: u32) -> f64 {
        let settings = &self.settings;
        let schedule = match self.recipe.horizon {
            Horizon::AsSet => settings.schedule,
            Horizon::Microbatches => settings.schedule.in_microbatches(settings.accumulation),
        };
        let clock = Clock {
            unit: settings.schedule_unit,
            fault: self.recipe.scheduler_step,
        };
        schedule.rate(clock.steps(&self.before, accumulation))
    }

    /// A group of which nothing was computed: an attempt that applies nothing, unless its loop does not get that far.
    pub fn skip(&mut self, plan: &GroupPlan) -> Outcome {
        let tail = self.tail(plan);
        if tail == Tail::Dropped {
            return Outcome::Dropped;
        }
        plan.microbatches.iter().for_each(|k| self.count_examples(k));
        self.counters.update_attempts += u64::from(tail == Tail::Processed);
        Outcome::NoSupervisedToken
    }

    /// Ends an attempt once it is known whether all gradients were finite: the scale moves, and what was not finite is taken back, so
    /// that parameters, optimizer state, schedule and count are as before.
    pub fn settle(&mut self, attempt: Attempt, finite: bool) -> Outcome {
        let before = match attempt.before {
            Ok(before) => before,
            Err(error) => return Outcome::Refused(error),
        };
        let outcome = match &mut self.scaler {
            None if finite => Outcome::Applied,
            None => Outcome::NonFiniteGradient,
            Some(scaler) => match scaler.attempt(finite, 1) {
                Ok(scaler::Attempt::Apply) => Outcome::Applied,
                Ok(scaler::Attempt::Skip) => Outcome::NonFiniteGradient,
                Err(error) => Outcome::Refused(error),
            },
        };
        if outcome != Outcome::Applied {
            self.replicas.take_back(before);
            // Those of earlier microbatches stand.
            if attempt.last {
                self.make_moves();
            }
            self.counters.applied_updates -= 1;
        }
        outcome
    }

    /// The loss scale after a group that used `used`; `None` without one. A group that used none is between two scales that are the same.
    pub fn scale_row(&self, used: Option<f64>) -> Option<ScaleRow> {
        self.scaler.as_ref().map(|scaler| ScaleRow {
            used: used.unwrap_or_else(|| scaler.scale()),
            next: scaler.scale(),
            growth_tracker: scaler.growth_tracker(),
        })
    }
}
