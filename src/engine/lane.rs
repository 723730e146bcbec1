//! One trajectory: a convention, and the loop that it runs in.

use burn::tensor::Tensor;

use super::{
    gradient::Forward,
    microbatch::Microbatch,
    model::{Mode, Network},
    numerics::Numerics,
    replica::Replicas,
    settings::Settings,
    update::Reduced,
};
use crate::batch::{
    Convention, Counters, GroupFacts, GroupPlan, MicrobatchPlan, Recipe, TokenWeights,
    recipe::{Graph, Tail},
    scaler::Scaler,
};

/// A convention and a loop with their replicas, and the group they are in the middle of.
pub struct Lane {
    /// What multiplies each microbatch's loss.
    pub convention: &'static Convention,
    /// Its loop.
    pub recipe: Recipe,
    /// Counts since the start.
    pub counters: Counters,
    /// Precision, dropout and BatchNorm.
    pub numerics: Numerics,
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
    pub(super) waiting: Option<Forward>,
    /// Forwards whose losses are summed before one backward, with replica and factor.
    pub(super) together: Vec<(u32, Forward, f64)>,
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
            numerics: Numerics::default(),
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

    /// Whether its loop goes through a group at all.
    pub fn works_on(&self, plan: &GroupPlan) -> bool {
        let empty = plan.supervised() == 0;
        self.tail(plan) != Tail::Dropped && (!empty || self.recipe.enters_empty_group(self.convention))
    }

    /// A group begins. Rates go by the counts of this moment.
    pub fn begin(&mut self, plan: &GroupPlan) {
        self.group = InGroup {
            carried: self.tail(plan) == Tail::Carried,
            ..InGroup::default()
        };
        self.note_counts();
    }

    pub(super) fn note_counts(&mut self) {
        self.before = Counters {
            microbatches: self.own_microbatches,
            ..self.counters
        };
    }

    /// The forward of one microbatch. One without a supervised token needs no graph, unless its mean is written by hand: its loss is 0 and so
    /// is its gradient.
    pub fn forward(&mut self, plan: &MicrobatchPlan, facts: &GroupFacts, microbatch: &Microbatch) {
        let now = self.replicas.parameters(0).clone();
        let first = self.group.seen.take().map_or_else(|| now.clone(), |(first, _)| first);
        self.group.seen = Some((first, now));
        let k = &plan.facts;
        let parameters = self.replicas.parameters(k.replica);
        let by_hand = self.recipe.empty_mean.enters_ignored() && self.convention.is_mean_of_none(facts, k);
        if k.supervised == 0 && !by_hand {
            self.numerics.pass_by(&self.network, parameters, k.replica, microbatch);
            return;
        }
        let forward = |mode: &mut Mode| {
            if by_hand {
                Forward::of_nothing(&self.network, parameters, microbatch, mode)
            } else {
                Forward::new(
                    &self.network,
                    parameters,
                    microbatch,
                    self.convention.token_weights,
                    mode,
                )
            }
        };
        let mut mode = self.numerics.mode(&self.network, k.replica, microbatch);
        // A backward uses its graph up, so the one that is kept is a graph of its own, made the same way.
        if self.recipe.graph == Graph::Retained {
            self.retained.push(forward(&mut mode.clone()));
        }
        self.group.waiting = Some(forward(&mut mode));
        self.numerics.saw(k.replica, &mut mode);
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
        self.contribute(forward, k, facts);
        if let Some((_, seen)) = &mut self.group.seen {
            *seen = self.replicas.parameters(0).clone();
        }
        // The last index is closed by the update.
        let closed = facts.closes_index(k) && k.index + 1 < facts.accumulation();
        let step = self.recipe.step.inside() && !self.group.carried;
        if closed && !step {
            self.close(k.index, facts);
        }
        closed && step
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
