//! A whole run in plain f64, written as a training loop is: what every device is compared with.

use microbatch_lab::{
    batch::{
        Convention, Counters, Example, GroupPlan, LaneRule, MicrobatchFacts, PaddedBatch, Pass, Recipe,
        clip::{ClipAt, ClipOrder, coefficient},
        epoch_order,
        logged::logged_loss,
        no_sync::SyncMode,
        oracle::{AdamW, Optimizer, Sgd, mlp_gradient, norm, token_weights, transformer_gradient},
        plan::{EpochStart, plan_epoch},
        recipe::{Horizon, OptimizerStep, Tail, Unscale},
        scaler::{Attempt, ScaleInGroup, Scaler, ScalerError},
        scheduler_clock::Clock,
    },
    engine::model::Network,
    protocol::Outcome,
    setup::{self, Setup, types::ADAMW_EPS},
};

/// One lane's group.
pub(crate) struct Step {
    pub(crate) outcome: Outcome,
    pub(crate) loss_sums: Vec<f64>,
    pub(crate) logged_loss: f64,
    pub(crate) gradient_norm: f64,
    pub(crate) clip_norms: Vec<f64>,
    pub(crate) rate: f64,
    pub(crate) scale: Option<f64>,
    /// Those that depend on the loop.
    pub(crate) counters: Counters,
    /// Of every replica.
    pub(crate) parameters: Vec<Vec<f64>>,
}

/// The first `groups` groups of a run, lane by lane. A group without a supervised token changes nothing and gives no steps.
pub(crate) fn train(
    setup: &Setup,
    examples: &[Example],
    network: &Network,
    start: &[f32],
    groups: usize,
) -> Vec<Vec<Step>> {
    let mut lanes: Vec<Lane> = setup.lanes.iter().map(|rule| Lane::new(setup, *rule, start)).collect();
    let plans = plans(setup, examples, groups);
    plans
        .iter()
        .map(|plan| match plan.supervised() {
            0 => {
                lanes.iter_mut().for_each(|lane| lane.skip(plan));
                Vec::new()
            }
            _ => lanes
                .iter_mut()
                .map(|lane| lane.group(setup, examples, network, plan))
                .collect(),
        })
        .collect()
}

/// The first `groups` groups, over as many epochs as they take.
pub(crate) fn plans(setup: &Setup, examples: &[Example], groups: usize) -> Vec<GroupPlan> {
    let mut plans: Vec<GroupPlan> = Vec::new();
    for epoch in 0.. {
        if plans.len() >= groups {
            break;
        }
        let order = epoch_order(
            u32::try_from(examples.len()).unwrap(),
            setup.shuffle.then_some(setup.seed),
            epoch,
        );
        let start = EpochStart {
            epoch,
            first_group: plans.len() as u64,
        };
        plans.extend(plan_epoch(examples, &order, setup.split, setup.sharding, setup.last_group, start).groups);
    }
    plans.truncate(groups);
    plans
}

fn optimizer(rule: setup::Optimizer) -> Optimizer {
    match rule {
        setup::Optimizer::Sgd { momentum } => Optimizer::Sgd(Sgd::new(momentum)),
        setup::Optimizer::AdamW {
            beta1,
            beta2,
            weight_decay,
        } => Optimizer::AdamW(AdamW::new(beta1, beta2, ADAMW_EPS, weight_decay)),
    }
}

/// `.grad` is `None` after `zero_grad`, and then the optimizer leaves the parameters alone.
#[derive(Clone)]
struct Replica {
    parameters: Vec<f64>,
    grad: Option<Vec<f64>>,
    optimizer: Optimizer,
}

struct Lane {
    convention: &'static Convention,
    recipe: Recipe,
    replicas: Vec<Replica>,
    scaler: Option<Scaler>,
    counters: Counters,
    /// Microbatches of replica 0.
    own: u64,
    before: Counters,
    norms: Vec<f64>,
}

/// What an update came to.
struct Update {
    outcome: Outcome,
    norm: f64,
    rate: f64,
}

impl Lane {
    fn new(setup: &Setup, rule: LaneRule, start: &[f32]) -> Self {
        let convention = rule.convention();
        let count = if convention.pass == Pass::Whole {
            1
        } else {
            setup.split.replicas.get() as usize
        };
        let replica = Replica {
            parameters: start.iter().copied().map(f64::from).collect(),
            grad: None,
            optimizer: optimizer(setup.optimizer),
        };
        Self {
            convention,
            recipe: rule.recipe(),
            replicas: vec![replica; count],
            scaler: setup.loss_scale.map(Scaler::new),
            counters: Counters::default(),
            own: 0,
            before: Counters::default(),
            norms: Vec::new(),
        }
    }

    fn note(&mut self) {
        self.before = Counters {
            microbatches: self.own,
            ..self.counters
        };
    }

    /// Only its examples are counted, and the attempt.
    fn skip(&mut self, plan: &GroupPlan) {
        self.counters.update_attempts += 1;
        self.counters.examples += plan.examples();
    }

    fn group(&mut self, setup: &Setup, examples: &[Example], network: &Network, plan: &GroupPlan) -> Step {
        let whole = plan.whole(examples);
        let plan = if self.convention.pass == Pass::Whole {
            &whole
        } else {
            plan
        };
        let facts = plan.facts();
        self.norms.clear();
        self.note();
        let tail = if plan.partial {
            self.recipe.tail
        } else {
            Tail::Processed
        };
        let step_each = self.recipe.step == OptimizerStep::EachMicrobatch;
        // The A that a loop counts to.
        let a = match tail {
            _ if step_each => 1,
            Tail::Carried => facts.nominal_accumulation,
            Tail::Dropped | Tail::Processed => facts.accumulation(),
        };
        let (mut sums, mut weighted) = (Vec::new(), Vec::new());
        let parameters = self.replicas[0].parameters.len();
        let mut together = vec![None; self.replicas.len()];
        let mut update = None;
        let mut applied = false;
        for index in 0..facts.accumulation() {
            if tail == Tail::Dropped {
                break;
            }
            let place = if step_each { 0 } else { index };
            for k in plan.microbatches.iter().filter(|k| k.facts.index == index) {
                let batch = PaddedBatch::of(examples, &k.ids);
                let replica = k.facts.replica as usize;
                let weights = token_weights(self.convention.token_weights, &batch);
                let (losses, mut gradient) = gradient(network, &self.replicas[replica].parameters, &batch, &weights);
                sums.push(
                    losses
                        .iter()
                        .zip(&weights)
                        .map(|(l, w)| if *w > 0.0 { *l } else { 0.0 })
                        .sum::<f64>(),
                );
                weighted.push(
                    losses
                        .iter()
                        .zip(&weights)
                        .map(|(l, w)| if *w > 0.0 { l * w } else { 0.0 })
                        .sum::<f64>(),
                );
                let by_hand =
                    self.recipe.empty_mean.enters_ignored() && self.convention.is_mean_of_none(&facts, &k.facts);
                let factor = if by_hand {
                    f64::NAN
                } else {
                    self.convention.loss_factor(&facts, &k.facts)
                };
                let scale = self.scale_of(place);
                gradient.iter_mut().for_each(|g| *g *= factor * scale);
                self.counters.microbatches += 1;
                self.counters.examples += k.ids.len() as u64;
                self.counters.supervised_tokens += k.facts.supervised;
                self.own += u64::from(replica == 0);
                if self.recipe.zero_grad.before_backward() {
                    self.replicas[replica].grad = None;
                }
                let infinite = self.injected(setup, &k.facts);
                let nothing = k.facts.supervised == 0 && !by_hand;
                let mut contribution = (!nothing).then_some(gradient);
                if self.recipe.sync == SyncMode::SingleBackward && !step_each {
                    // One backward of the sum, when the replica's last forward is done.
                    if let Some(gradient) = contribution.take() {
                        add(&mut together[replica], gradient);
                    }
                    if facts.is_last_on_replica(&k.facts) {
                        contribution = together[replica].take();
                    }
                }
                if infinite {
                    contribution.get_or_insert_with(|| vec![0.0; parameters])[0] = f64::INFINITY;
                }
                if let Some(mut contribution) = contribution {
                    self.clip_contribution(setup, &mut contribution, replica, a, scale);
                    add(&mut self.replicas[replica].grad, contribution);
                }
            }
            if self.recipe.sync.reduces(place, a) {
                self.all_reduce();
            }
            if self.recipe.scale_in_group == ScaleInGroup::UnscaledAfterFirst && place == 0 && self.scaler.is_some() {
                let scale = self.scale_of(0);
                self.each_grad(|g| g / scale);
            }
            if self.recipe.clip_at == ClipAt::RunningGradient {
                let ratio = self.ratio_inside(self.scale_of(place));
                self.clip(setup, ratio);
            }
            if self.recipe.zero_grad.after_backward() {
                self.clear();
            }
            if tail == Tail::Processed && (step_each || index + 1 == facts.accumulation()) {
                let ended = self.update(setup, self.convention.after_factor(&facts), a);
                applied |= ended.outcome == Outcome::Applied;
                update = Some(ended);
                if index + 1 < facts.accumulation() {
                    self.note();
                }
            }
        }
        let update = update.unwrap_or_else(|| Update {
            outcome: if tail == Tail::Dropped {
                Outcome::Dropped
            } else {
                Outcome::Carried
            },
            norm: self.replicas[0].grad.as_deref().map_or(0.0, norm),
            rate: self.rate(setup, facts.accumulation()),
        });
        let nothing = tail == Tail::Dropped;
        Step {
            outcome: if applied { Outcome::Applied } else { update.outcome },
            loss_sums: sums,
            logged_loss: if nothing {
                f64::NAN
            } else {
                logged_loss(self.convention, &self.recipe, &facts, &weighted)
            },
            gradient_norm: if nothing { f64::NAN } else { update.norm },
            clip_norms: self.norms.clone(),
            rate: update.rate,
            scale: self.scaler.as_ref().map(Scaler::scale),
            counters: self.counters,
            parameters: self.replicas.iter().map(|replica| replica.parameters.clone()).collect(),
        }
    }

    fn scale_of(&self, place: u32) -> f64 {
        let Some(scaler) = &self.scaler else { return 1.0 };
        let grown = self.recipe.scale_in_group == ScaleInGroup::GrownAfterFirst && place > 0;
        scaler.scale() * if grown { scaler.growth_factor() } else { 1.0 }
    }

    fn ratio_inside(&self, scale: f64) -> f64 {
        match self.recipe.clip_order {
            ClipOrder::UnscaleThenClip => 1.0 / scale,
            ClipOrder::ClipThenUnscale => 1.0,
        }
    }

    fn injected(&self, setup: &Setup, k: &MicrobatchFacts) -> bool {
        let mut at = setup.inject_inf.iter();
        at.any(|at| {
            at.attempt == self.counters.update_attempts + 1
                && at.microbatch == k.index + 1
                && at.replica == k.replica + 1
        })
    }

    fn clip_contribution(&mut self, setup: &Setup, gradient: &mut [f64], replica: usize, a: u32, scale: f64) {
        let times = match self.recipe.clip_at {
            ClipAt::EachContribution => 1.0,
            ClipAt::EachMean => f64::from(a),
            ClipAt::AfterAccumulation | ClipAt::RunningGradient => return,
        };
        let Some(max) = setup.clip_norm else { return };
        let seen = norm(gradient) * times * self.ratio_inside(scale);
        gradient.iter_mut().for_each(|g| *g *= coefficient(seen, max));
        if replica == 0 {
            self.norms.push(seen);
        }
    }

    fn each_grad(&mut self, change: impl Fn(f64) -> f64) {
        let grads = self.replicas.iter_mut().filter_map(|replica| replica.grad.as_mut());
        grads.flatten().for_each(|g| *g = change(*g));
    }

    fn clear(&mut self) {
        self.replicas.iter_mut().for_each(|replica| replica.grad = None);
    }

    fn all_reduce(&mut self) {
        let count = self.replicas.len();
        if count > 1 {
            self.counters.all_reduces += 1;
            self.counters.all_reduced_bytes += 4 * self.replicas[0].parameters.len() as u64;
        }
        let mut mean = None;
        for grad in self.replicas.iter().filter_map(|replica| replica.grad.clone()) {
            add(&mut mean, grad);
        }
        if let Some(mean) = &mut mean {
            mean.iter_mut().for_each(|g| *g /= count as f64);
        }
        self.replicas
            .iter_mut()
            .for_each(|replica| replica.grad.clone_from(&mean));
    }

    fn clip(&mut self, setup: &Setup, ratio: f64) {
        let Some(max) = setup.clip_norm else { return };
        for (index, replica) in self.replicas.iter_mut().enumerate() {
            let Some(grad) = &mut replica.grad else { continue };
            let seen = norm(grad) * ratio;
            grad.iter_mut().for_each(|g| *g *= coefficient(seen, max));
            if index == 0 {
                self.norms.push(seen);
            }
        }
    }

    fn rate(&self, setup: &Setup, a: u32) -> f64 {
        let schedule = match self.recipe.horizon {
            Horizon::AsSet => setup.schedule,
            Horizon::Microbatches => setup.schedule.in_microbatches(setup.split.accumulation.get()),
        };
        let clock = Clock {
            unit: setup.schedule_unit,
            fault: self.recipe.scheduler_step,
        };
        schedule.rate(clock.steps(&self.before, a))
    }

    /// Unscale, check, clip, optimizer, zero.
    fn update(&mut self, setup: &Setup, after: f64, a: u32) -> Update {
        self.counters.update_attempts += 1;
        let rate = self.rate(setup, a);
        let scale = self.scale_of(0);
        let divisor = match self.recipe.scale_in_group {
            _ if self.scaler.is_none() => 1.0,
            ScaleInGroup::Held => scale,
            ScaleInGroup::GrownAfterFirst => self.scale_of(1),
            ScaleInGroup::UnscaledAfterFirst => 1.0,
        };
        self.each_grad(|g| g * after / divisor);
        let grads = || self.replicas.iter().filter_map(|replica| replica.grad.as_ref());
        let finite = grads().flatten().all(|g| g.is_finite());
        let length = self.replicas[0].grad.as_deref().map_or(0.0, norm);
        let outcome = match &mut self.scaler {
            Some(_) if self.recipe.unscale == Unscale::Twice && a > 1 => Outcome::Refused(ScalerError::AlreadyUnscaled),
            Some(scaler) => {
                scaler.unscale(finite).expect("once");
                let attempt = scaler.step().expect("checked");
                scaler.update().expect("checked");
                if attempt == Attempt::Apply {
                    Outcome::Applied
                } else {
                    Outcome::NonFiniteGradient
                }
            }
            None if finite => Outcome::Applied,
            None => Outcome::NonFiniteGradient,
        };
        if matches!(outcome, Outcome::Applied | Outcome::NonFiniteGradient)
            && self.recipe.clip_at == ClipAt::AfterAccumulation
        {
            let ratio = match self.recipe.clip_order {
                ClipOrder::UnscaleThenClip => 1.0,
                ClipOrder::ClipThenUnscale => scale,
            };
            self.clip(setup, ratio);
        }
        if outcome == Outcome::Applied {
            self.counters.applied_updates += 1;
            for replica in &mut self.replicas {
                if let Some(grad) = &replica.grad {
                    replica.optimizer.apply(&mut replica.parameters, grad, rate);
                }
            }
        }
        if self.recipe.zero_grad.after_update() {
            self.clear();
        }
        Update {
            outcome,
            norm: length,
            rate,
        }
    }
}

fn add(into: &mut Option<Vec<f64>>, gradient: Vec<f64>) {
    match into {
        Some(sum) => sum.iter_mut().zip(gradient).for_each(|(sum, g)| *sum += g),
        None => *into = Some(gradient),
    }
}

/// The loss of each position, and the gradient of their weighted sum.
pub(crate) fn gradient(
    network: &Network,
    parameters: &[f64],
    batch: &PaddedBatch,
    weights: &[f64],
) -> (Vec<f64>, Vec<f64>) {
    let (tokens, labels) = (&batch.tokens, &batch.labels);
    let (losses, gradient) = match network {
        Network::TokenMlp(shape) => mlp_gradient(*shape, parameters, tokens, labels, weights),
        Network::Transformer(shape) => transformer_gradient(*shape, parameters, batch.width, tokens, labels, weights),
        Network::Line(_) => panic!("the fixture's own test computes it"),
    };
    (losses.per_token, gradient)
}
