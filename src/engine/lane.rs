//! One trajectory: a convention, and the loop that it runs in.

use burn::tensor::Tensor;

use super::{
    clip::clip, gradient::Forward, microbatch::Microbatch, model::Network, replica::Replicas, update::Reduced,
};
use crate::{
    batch::{
        Convention, Counters, GroupFacts, GroupPlan, MicrobatchFacts, MicrobatchPlan, Recipe, Schedule, TokenWeights,
        Unit,
        clip::{ClipAt, ClipOrder},
        no_sync::SyncMode,
        recipe::{Graph, OptimizerStep, Tail},
        scaler::{Scaler, ScalerConfig},
    },
    setup::{Injection, Optimizer, Precision, Setup},
};

/// What a Setup says of every lane's loop.
#[derive(Clone, Debug)]
pub struct Settings {
    /// A as set.
    pub accumulation: u32,
    /// The optimizer.
    pub optimizer: Optimizer,
    /// The learning rate.
    pub schedule: Schedule,
    /// What counts as one step of the schedule.
    pub schedule_unit: Unit,
    /// Largest norm of the whole gradient; `None` for no clipping.
    pub clip_norm: Option<f64>,
    /// Dynamic loss scaling; `None` for none.
    pub loss_scale: Option<ScalerConfig>,
    /// How numbers are rounded on the way.
    pub precision: Precision,
    /// Where an infinity is put into a gradient.
    pub inject_inf: Vec<Injection>,
}

impl Settings {
    /// Those of `setup`.
    pub fn of(setup: &Setup) -> Self {
        Self {
            accumulation: setup.split.accumulation.get(),
            optimizer: setup.optimizer,
            schedule: setup.schedule,
            schedule_unit: setup.schedule_unit,
            clip_norm: setup.clip_norm,
            loss_scale: setup.loss_scale,
            precision: setup.precision,
            inject_inf: setup.inject_inf.clone(),
        }
    }
}

/// A convention and a loop with their replicas, and the group they are in the middle of.
pub struct Lane {
    /// What multiplies each microbatch's loss.
    pub convention: &'static Convention,
    /// Its loop.
    pub recipe: Recipe,
    /// Counts since the start.
    pub counters: Counters,
    pub(super) replicas: Replicas,
    pub(super) settings: Settings,
    pub(super) scaler: Option<Scaler>,
    /// Counts before this group's update, with the microbatches of one replica.
    pub(super) before: Counters,
    pub(super) group: InGroup,
    /// What each replica's optimizer was given last, where that is kept.
    pub(super) stepped: Option<Vec<Tensor<1>>>,
    network: Network,
    /// Microbatches of replica 0.
    own_microbatches: u64,
    /// Losses that are never back-propagated, with their graphs.
    retained: Vec<Forward>,
}

/// What a lane holds of the group it works on.
#[derive(Default)]
pub(super) struct InGroup {
    /// Whether its gradients are left for a later update.
    pub(super) carried: bool,
    /// S of each microbatch, in order; `None` where nothing is scored.
    pub(super) sums: Vec<Option<Tensor<1>>>,
    /// The same, weighted as the convention says; empty where it says nothing.
    pub(super) weighted: Vec<Option<Tensor<1>>>,
    /// Every norm that a clip saw on replica 0.
    pub(super) norms: Vec<Tensor<1>>,
    /// Replica 0's parameters as the first forward and as the last backward saw them.
    pub(super) seen: Option<(Tensor<1>, Tensor<1>)>,
    waiting: Option<Forward>,
    /// Forwards whose losses are summed before one backward, with replica and factor.
    together: Vec<(u32, Forward, f64)>,
}

impl Lane {
    /// A lane at its start.
    pub fn new(
        convention: &'static Convention,
        recipe: Recipe,
        network: Network,
        parameters: &Tensor<1>,
        replicas: u32,
        settings: Settings,
    ) -> Self {
        Self {
            convention,
            recipe,
            counters: Counters::default(),
            replicas: Replicas::new(replicas, parameters, settings.optimizer),
            scaler: settings.loss_scale.map(Scaler::new),
            settings,
            before: Counters::default(),
            group: InGroup::default(),
            stepped: None,
            network,
            own_microbatches: 0,
            retained: Vec::new(),
        }
    }

    /// Its replicas.
    pub fn replicas(&self) -> &Replicas {
        &self.replicas
    }

    /// From here on each replica computes its own update, as separate processes do.
    pub fn compute_replicas_apart(&mut self) {
        self.replicas.compute_apart();
    }

    /// From here on what each replica's optimizer is given is kept until its next update.
    pub fn keep_gradients(&mut self) {
        self.stepped = Some(Vec::new());
    }

    /// What each replica's optimizer was given last; empty where it is not kept.
    pub fn kept_gradients(&self) -> &[Tensor<1>] {
        self.stepped.as_deref().unwrap_or_default()
    }

    /// The parameters that the next microbatch on `replica` will be computed with.
    pub fn parameters(&self, replica: u32) -> &Tensor<1> {
        self.replicas.parameters(replica)
    }

    /// What its loop does with a partial group; [`Tail::Processed`] for a full one.
    pub fn tail(&self, plan: &GroupPlan) -> Tail {
        if plan.partial {
            self.recipe.tail
        } else {
            Tail::Processed
        }
    }

    /// A group begins. Rates go by the counts of this moment.
    pub fn begin(&mut self, plan: &GroupPlan) {
        self.group.carried = self.tail(plan) == Tail::Carried;
        self.note_counts();
    }

    pub(super) fn note_counts(&mut self) {
        self.before = Counters {
            microbatches: self.own_microbatches,
            ..self.counters
        };
    }

    /// The forward of one microbatch. One without a supervised token needs none, unless its mean is written by hand: its loss is 0 and so is
    /// its gradient.
    pub fn forward(&mut self, plan: &MicrobatchPlan, facts: &GroupFacts, microbatch: &Microbatch) {
        let now = self.replicas.parameters(0).clone();
        let first = self.group.seen.take().map_or_else(|| now.clone(), |(first, _)| first);
        self.group.seen = Some((first, now));
        let k = &plan.facts;
        let parameters = self.replicas.parameters(k.replica);
        let by_hand = self.recipe.empty_mean.enters_ignored() && self.convention.is_mean_of_none(facts, k);
        let forward = || {
            if by_hand {
                Forward::of_nothing(&self.network, parameters, microbatch)
            } else {
                Forward::new(&self.network, parameters, microbatch, self.convention.token_weights)
            }
        };
        self.group.waiting = (k.supervised > 0 || by_hand).then(forward);
        // A backward uses its graph up, so the one that is kept is a graph of its own.
        if self.recipe.graph == Graph::Retained && self.group.waiting.is_some() {
            let kept = forward();
            self.retained.push(kept);
        }
    }

    /// S of the microbatch whose backward is due.
    pub fn waiting_sum(&self) -> Option<&Tensor<1>> {
        self.group.waiting.as_ref().map(|forward| &forward.loss_sum)
    }

    /// The backward of the microbatch of the last forward: its share is added to its replica's gradient. Says whether an update inside
    /// the group is due before the next microbatch.
    pub fn backward(&mut self, plan: &MicrobatchPlan, facts: &GroupFacts) -> bool {
        let k = &plan.facts;
        self.counters.microbatches += 1;
        self.own_microbatches += u64::from(k.replica == 0);
        self.count_examples(plan);
        if self.recipe.zero_grad.before_backward() {
            self.replicas.clear(k.replica);
        }
        let forward = self.group.waiting.take();
        self.group
            .sums
            .push(forward.as_ref().map(|forward| forward.loss_sum.clone()));
        if self.convention.token_weights != TokenWeights::Uniform {
            self.group.weighted.push(forward.as_ref().map(Forward::weighted_sum));
        }
        let contribution = self.contribution(forward, k, facts);
        if let Some(contribution) = self.with_injection(contribution, k) {
            let contribution = self.clip_contribution(contribution, k, facts);
            self.replicas.accumulate(k.replica, contribution);
        }
        if let Some((_, seen)) = &mut self.group.seen {
            *seen = self.replicas.parameters(0).clone();
        }
        // The last index is closed by the update.
        let closed = facts.closes_index(k) && k.index + 1 < facts.accumulation();
        let step = self.recipe.step == OptimizerStep::EachMicrobatch && !self.group.carried;
        if closed && !step {
            self.close(k.index, facts);
        }
        closed && step
    }

    /// What a backward adds to `.grad`; `None` for nothing, or nothing yet.
    fn contribution(&mut self, forward: Option<Forward>, k: &MicrobatchFacts, facts: &GroupFacts) -> Option<Tensor<1>> {
        let (factor, first) = (self.factor(k, facts), self.factor_first());
        let together = self.recipe.sync == SyncMode::SingleBackward && self.recipe.step == OptimizerStep::Group;
        let due = if together {
            self.group
                .together
                .extend(forward.map(|forward| (k.replica, forward, factor)));
            if !facts.is_last_on_replica(k) {
                return None;
            }
            let all = std::mem::take(&mut self.group.together);
            let (own, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|(replica, ..)| *replica == k.replica);
            self.group.together = others;
            own.into_iter().map(|(_, forward, factor)| (forward, factor)).collect()
        } else {
            Vec::from_iter(forward.map(|forward| (forward, factor)))
        };
        self.counters.backwards += u64::from(!due.is_empty());
        if together || first {
            Forward::backward_together(due)
        } else {
            due.into_iter()
                .next()
                .map(|(forward, factor)| forward.backward() * factor)
        }
    }

    /// Half precision overflows and underflows in the backward, so there, and under a loss scale, factors enter before it.
    fn factor_first(&self) -> bool {
        self.scaler.is_some() || self.settings.precision == Precision::F16
    }

    /// Whether what follows accumulation is a factor of each contribution just as well: nobody looks at `.grad` in between.
    fn folded(&self) -> bool {
        self.recipe == Recipe::default() && !self.factor_first()
    }

    /// What multiplies the loss sum of microbatch `k`, or its gradient.
    fn factor(&self, k: &MicrobatchFacts, facts: &GroupFacts) -> f64 {
        if self.folded() {
            return self.convention.coefficient(facts, k);
        }
        // A mean over nothing is no number already, whatever it is multiplied by.
        let factor = if k.supervised == 0 {
            1.0
        } else {
            self.convention.loss_factor(facts, k)
        };
        factor * self.scale_of(self.place(k.index, facts).0)
    }

    /// What `.grad` is multiplied by at the end of the group.
    pub(super) fn finishing_factor(&self, facts: &GroupFacts) -> f64 {
        if self.folded() {
            return 1.0;
        }
        let divisor = self.scaler.as_ref().map_or(1.0, |scaler| {
            self.recipe
                .scale_in_group
                .divided_at_end(scaler.scale(), scaler.growth_factor())
        });
        self.convention.after_factor(facts) / divisor
    }

    fn scale_of(&self, index: u32) -> f64 {
        self.scaler.as_ref().map_or(1.0, |scaler| {
            self.recipe
                .scale_in_group
                .of_loss(index, scaler.scale(), scaler.growth_factor())
        })
    }

    /// Where the loop believes microbatch `index` to stand: its index, and of how many.
    pub(super) fn place(&self, index: u32, facts: &GroupFacts) -> (u32, u32) {
        match self.recipe.step {
            // Every microbatch is a group to a loop that steps after each.
            OptimizerStep::EachMicrobatch => (0, 1),
            // The loop counts on; its last microbatch is in the next epoch.
            OptimizerStep::Group if self.group.carried => (index, facts.nominal_accumulation),
            OptimizerStep::Group => (index, facts.accumulation()),
        }
    }

    fn with_injection(&self, contribution: Option<Tensor<1>>, k: &MicrobatchFacts) -> Option<Tensor<1>> {
        let attempt = self.counters.update_attempts + 1;
        let here = |at: &Injection| (at.attempt, at.microbatch, at.replica) == (attempt, k.index + 1, k.replica + 1);
        if !self.settings.inject_inf.iter().any(here) {
            return contribution;
        }
        let parameters = self.replicas.parameters(k.replica);
        let mut values = vec![0.0f32; parameters.dims()[0]];
        values.iter_mut().take(1).for_each(|value| *value = f32::INFINITY);
        let infinite = Tensor::from_floats(&values[..], &parameters.device());
        Some(contribution.map_or(infinite.clone(), |contribution| contribution + infinite))
    }

    fn clip_contribution(&mut self, contribution: Tensor<1>, k: &MicrobatchFacts, facts: &GroupFacts) -> Tensor<1> {
        let (index, accumulation) = self.place(k.index, facts);
        let times = match self.recipe.clip_at {
            ClipAt::EachContribution => 1.0,
            ClipAt::EachMean => f64::from(accumulation),
            ClipAt::AfterAccumulation | ClipAt::RunningGradient => return contribution,
        };
        let Some(max) = self.settings.clip_norm else {
            return contribution;
        };
        let (clipped, seen) = clip(contribution, max, times * self.ratio_inside(index));
        if k.replica == 0 {
            self.group.norms.push(seen);
        }
        clipped
    }

    /// How much larger than a scaled gradient the one that a clip inside the group sees is.
    fn ratio_inside(&self, index: u32) -> f64 {
        match self.recipe.clip_order {
            ClipOrder::UnscaleThenClip => 1.0 / self.scale_of(index),
            ClipOrder::ClipThenUnscale => 1.0,
        }
    }

    /// What follows once every replica is done with its microbatch of `index`.
    pub(super) fn close(&mut self, index: u32, facts: &GroupFacts) {
        let (index, accumulation) = self.place(index, facts);
        if self.recipe.sync.reduces(index, accumulation) {
            self.all_reduce();
        }
        let scale = self.scaler.as_ref().map_or(1.0, Scaler::scale);
        if let Some(divisor) = self.recipe.scale_in_group.divided_after(index, scale) {
            self.replicas.change_gradients(|_, gradient| gradient / divisor);
        }
        if let (ClipAt::RunningGradient, Some(max)) = (self.recipe.clip_at, self.settings.clip_norm) {
            self.clip_gradients(max, self.ratio_inside(index));
        }
        if self.recipe.zero_grad.after_backward() {
            self.replicas.clear_all();
        }
    }

    /// Clips every replica's `.grad`.
    pub(super) fn clip_gradients(&mut self, max_norm: f64, ratio: f64) {
        let norms = &mut self.group.norms;
        self.replicas.change_gradients(|replica, gradient| {
            let (clipped, seen) = clip(gradient, max_norm, ratio);
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

    /// Counts the examples of a microbatch, computed or not.
    pub fn count_examples(&mut self, plan: &MicrobatchPlan) {
        self.counters.examples += plan.ids.len() as u64;
        self.counters.supervised_tokens += plan.facts.supervised;
        self.counters.padded_tokens += plan.padded;
    }

    /// The gradient of a whole group at the present parameters, which stay as they are.
    pub fn gradient_of(&mut self, group: &GroupPlan, microbatches: &[Microbatch]) -> Reduced {
        let facts = group.facts();
        for (plan, microbatch) in group.microbatches.iter().zip(microbatches) {
            self.forward(plan, &facts, microbatch);
            self.backward(plan, &facts);
        }
        let (gradient, others) = self.reduce(&facts);
        self.replicas.clear_all();
        self.reduced(gradient, others)
    }
}
