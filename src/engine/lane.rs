//! One trajectory under one convention.

use burn::tensor::Tensor;

use super::{gradient::Forward, microbatch::Microbatch, model::Network, numerics::Numerics, replica::Replicas};
use crate::batch::{Convention, Counters, GroupFacts, GroupPlan, MicrobatchPlan, Schedule};
use crate::setup::Optimizer;

/// A convention with its replicas, and the group it is in the middle of.
pub struct Lane {
    /// What multiplies each microbatch's gradient.
    pub convention: &'static Convention,
    /// Counts since the start.
    pub counters: Counters,
    /// Precision, dropout and BatchNorm.
    pub numerics: Numerics,
    network: Network,
    replicas: Replicas,
    schedule: Schedule,
    group: InGroup,
    /// What each replica's optimizer was given last, where that is kept.
    stepped: Option<Vec<Tensor<1>>>,
}

/// What a lane holds of the group it works on.
#[derive(Default)]
struct InGroup {
    /// S of each microbatch, in order; `None` where nothing is scored.
    sums: Vec<Option<Tensor<1>>>,
    waiting: Option<Forward>,
    /// Replica 0's parameters as the first forward and as the last backward saw them.
    seen: Option<(Tensor<1>, Tensor<1>)>,
}

/// A group as a lane has worked through it, still on the device.
pub struct Reduced {
    /// The gradient that every replica gets.
    pub gradient: Tensor<1>,
    /// S of each microbatch, in order; `None` where nothing is scored.
    pub sums: Vec<Option<Tensor<1>>>,
    /// Replica 0's parameters as the first forward and as the last backward saw them.
    pub seen: (Tensor<1>, Tensor<1>),
}

/// An update that may still be taken back.
pub struct Attempt {
    /// The learning rate used.
    pub rate: f64,
    before: Replicas,
}

impl Lane {
    /// A lane at its start.
    pub fn new(
        convention: &'static Convention,
        network: Network,
        parameters: &Tensor<1>,
        replicas: u32,
        rule: Optimizer,
        schedule: Schedule,
    ) -> Self {
        Self {
            convention,
            counters: Counters::default(),
            numerics: Numerics::default(),
            network,
            replicas: Replicas::new(replicas, parameters, rule),
            schedule,
            group: InGroup::default(),
            stepped: None,
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

    /// The forward of one microbatch. One without a supervised token needs no graph: its loss is 0 and so is its gradient.
    pub fn forward(&mut self, plan: &MicrobatchPlan, microbatch: &Microbatch) {
        let now = self.replicas.parameters(0).clone();
        let seen = self
            .group
            .seen
            .take()
            .map_or_else(|| (now.clone(), now.clone()), |(first, _)| (first, now.clone()));
        self.group.seen = Some(seen);
        let replica = plan.facts.replica;
        let parameters = self.replicas.parameters(replica);
        if plan.facts.supervised == 0 {
            self.numerics.pass_by(&self.network, parameters, replica, microbatch);
            return;
        }
        let mut mode = self.numerics.mode(&self.network, replica, microbatch);
        let weights = self.convention.token_weights;
        self.group.waiting = Some(Forward::new(&self.network, parameters, microbatch, weights, &mut mode));
        self.numerics.saw(replica, &mut mode);
    }

    /// S of the microbatch whose backward is due.
    pub fn waiting_sum(&self) -> Option<&Tensor<1>> {
        self.group.waiting.as_ref().map(|forward| &forward.loss_sum)
    }

    /// The backward of the microbatch of the last forward: its share is added to its replica's gradient.
    pub fn backward(&mut self, plan: &MicrobatchPlan, facts: &GroupFacts) {
        self.counters.microbatches += 1;
        self.count_examples(plan);
        let Some(forward) = self.group.waiting.take() else {
            self.group.sums.push(None);
            return;
        };
        self.counters.backwards += 1;
        self.group.sums.push(Some(forward.loss_sum.clone()));
        let coefficient = self.convention.coefficient(facts, &plan.facts);
        self.replicas
            .accumulate(plan.facts.replica, forward.backward(), coefficient);
        let last = self.replicas.parameters(0).clone();
        if let Some((_, seen)) = &mut self.group.seen {
            *seen = last;
        }
    }

    /// Counts the examples of a microbatch, computed or not.
    pub fn count_examples(&mut self, plan: &MicrobatchPlan) {
        self.counters.examples += plan.ids.len() as u64;
        self.counters.supervised_tokens += plan.facts.supervised;
        self.counters.padded_tokens += plan.padded;
    }

    /// Ends the group's accumulation: the mean over replicas, and what was seen on the way.
    pub fn reduce(&mut self) -> Reduced {
        let group = std::mem::take(&mut self.group);
        let now = || (self.replicas.parameters(0).clone(), self.replicas.parameters(0).clone());
        let seen = group.seen.unwrap_or_else(now);
        Reduced {
            gradient: self.replicas.reduce(),
            sums: group.sums,
            seen,
        }
    }

    /// One update with the reduced gradient. Whether the gradient was finite is known only when it is read back, so the update can
    /// be taken back.
    pub fn attempt(&mut self, gradient: &Tensor<1>) -> Attempt {
        self.counters.update_attempts += 1;
        let attempt = Attempt {
            rate: self.schedule.rate(self.counters.applied_updates),
            before: self.replicas.clone(),
        };
        self.replicas.apply(gradient, attempt.rate);
        if let Some(stepped) = &mut self.stepped {
            *stepped = self.replicas.all_parameters().map(|_| gradient.clone()).collect();
        }
        self.counters.applied_updates += 1;
        attempt
    }

    /// A group of which nothing was computed: an attempt that applies nothing. Returns the rate that stays due.
    pub fn skip(&mut self) -> f64 {
        self.counters.update_attempts += 1;
        self.schedule.rate(self.counters.applied_updates)
    }

    /// Takes an update back: parameters, optimizer state, schedule and count are as before.
    pub fn take_back(&mut self, attempt: Attempt) {
        self.replicas = attempt.before;
        self.counters.applied_updates -= 1;
    }

    /// The gradient of a whole group at the present parameters, which stay as they are.
    pub fn gradient_of(&mut self, group: &GroupPlan, microbatches: &[Microbatch]) -> Reduced {
        let facts = group.facts();
        for (plan, microbatch) in group.microbatches.iter().zip(microbatches) {
            self.forward(plan, microbatch);
            self.backward(plan, &facts);
        }
        self.reduce()
    }
}
