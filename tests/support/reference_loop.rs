//! One lane of the reference: the loop, step by step, with its faults.

use microbatch_lab::{
    batch::{
        Convention, ConventionId, Counters, Example, GroupFacts, GroupPlan, LaneRule, MicrobatchFacts, MicrobatchPlan,
        PaddedBatch, Pass, Recipe,
        clip::{ClipAt, ClipOrder, coefficient},
        empty_mean::EmptyMean,
        logged::logged_loss,
        no_sync::SyncMode,
        oracle::{Optimizer, norm, token_weights},
        recipe::{EmptyGroup, Horizon, OptimizerStep, Tail, Unscale},
        scaler::{Attempt, ScaleInGroup, Scaler, ScalerError},
        scheduler_clock::Clock,
    },
    engine::model::Network,
    protocol::Outcome,
    setup::Setup,
};

use super::{Inner, Step, add, gradient, optimizer, scale_by};

/// What a run is of.
pub(super) struct World<'a> {
    pub(super) setup: &'a Setup,
    pub(super) examples: &'a [Example],
    pub(super) network: &'a Network,
}

/// The group that a lane is in.
struct Now {
    facts: GroupFacts,
    /// The A that the loop counts to.
    a: u32,
    step_each: bool,
    tail: Tail,
    sums: Vec<f64>,
    weighted: Vec<f64>,
    /// Gradients that wait for one backward, by replica.
    together: Vec<Option<Vec<f64>>>,
}

/// `.grad` is `None` after `zero_grad`, and then the optimizer leaves the parameters alone.
#[derive(Clone)]
struct Replica {
    parameters: Vec<f64>,
    grad: Option<Vec<f64>>,
    optimizer: Optimizer,
    /// What waits for the end of the group, where moves are summed.
    moves: Option<Vec<f64>>,
}

pub(super) struct Lane {
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
    pub(super) fn new(setup: &Setup, rule: LaneRule, start: &[f32]) -> Self {
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
            moves: None,
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

    /// Whether it goes through a group without a token.
    pub(super) fn enters_empty(&self) -> bool {
        use ConventionId as C;
        let zero_over_zero = matches!(
            self.convention.id,
            C::MeanOfMeans
                | C::ReplicaTokenMean
                | C::DividedTwice
                | C::NeverDivided
                | C::NominalAccumulation
                | C::TwoDenominators
        );
        self.recipe.empty_group == EmptyGroup::SteppedWithZeros
            || (self.recipe.empty_mean == EmptyMean::HandMasked && zero_over_zero)
    }

    /// Only its examples are counted, and the attempt.
    pub(super) fn skip(&mut self, world: &World<'_>, plan: &GroupPlan) -> Step {
        self.note();
        let tail = self.now(plan).tail;
        if tail != Tail::Dropped {
            self.counters.examples += plan.examples();
        }
        self.counters.update_attempts += u64::from(tail == Tail::Processed);
        let outcome = match tail {
            Tail::Dropped => Outcome::Dropped,
            Tail::Carried | Tail::Processed => Outcome::NoSupervisedToken,
        };
        let microbatches = match self.convention.pass {
            Pass::AsSplit => plan.microbatches.len(),
            Pass::Whole => 1,
        };
        Step {
            outcome,
            inner: Vec::new(),
            loss_sums: vec![0.0; microbatches],
            logged_loss: f64::NAN,
            gradient_norm: f64::NAN,
            clip_norms: Vec::new(),
            rate: self.rate(world.setup, plan.facts().accumulation()),
            scale: self.scaler.as_ref().map(Scaler::scale),
            counters: self.counters,
            parameters: self.replicas.iter().map(|replica| replica.parameters.clone()).collect(),
        }
    }

    pub(super) fn group(&mut self, world: &World<'_>, plan: &GroupPlan) -> Step {
        let whole = plan.whole(world.examples);
        let plan = if self.convention.pass == Pass::Whole {
            &whole
        } else {
            plan
        };
        self.norms.clear();
        self.note();
        let mut now = self.now(plan);
        let (mut inner, mut clips) = (Vec::new(), 0);
        let mut update = Update {
            outcome: Outcome::Dropped,
            norm: f64::NAN,
            rate: self.rate(world.setup, now.facts.accumulation()),
        };
        let indices = if now.tail == Tail::Dropped {
            0
        } else {
            now.facts.accumulation()
        };
        for index in 0..indices {
            for k in plan.microbatches.iter().filter(|k| k.facts.index == index) {
                self.microbatch(world, &mut now, k);
            }
            self.close(world.setup, &now, index);
            if now.tail == Tail::Processed && (now.step_each || index + 1 == indices) {
                update = self.update(world.setup, self.convention.after_factor(&now.facts), now.a);
                if index + 1 < indices {
                    self.note();
                    inner.push(Inner {
                        after_index: index,
                        outcome: update.outcome,
                        gradient_norm: update.norm,
                        clip_norms: self.norms[clips..].to_vec(),
                        rate: update.rate,
                        scale: self.scaler.as_ref().map(Scaler::scale),
                        counters: self.counters,
                    });
                    clips = self.norms.len();
                }
            }
        }
        for replica in &mut self.replicas {
            let moves = replica.moves.take().unwrap_or_default();
            replica
                .parameters
                .iter_mut()
                .zip(moves)
                .for_each(|(p, moved)| *p += moved);
        }
        if now.tail == Tail::Carried {
            update.outcome = Outcome::Carried;
            update.norm = self.replicas[0].grad.as_deref().map_or(0.0, norm);
        }
        let logged = logged_loss(self.convention, &self.recipe, &now.facts, &now.weighted);
        Step {
            inner,
            outcome: update.outcome,
            loss_sums: now.sums,
            logged_loss: if indices == 0 { f64::NAN } else { logged },
            gradient_norm: update.norm,
            clip_norms: self.norms.clone(),
            rate: update.rate,
            scale: self.scaler.as_ref().map(Scaler::scale),
            counters: self.counters,
            parameters: self.replicas.iter().map(|replica| replica.parameters.clone()).collect(),
        }
    }

    fn now(&self, plan: &GroupPlan) -> Now {
        let facts = plan.facts();
        let tail = if plan.partial {
            self.recipe.tail
        } else {
            Tail::Processed
        };
        let step_each = self.recipe.step != OptimizerStep::Group;
        let a = match tail {
            _ if step_each => 1,
            Tail::Carried => facts.nominal_accumulation,
            Tail::Dropped | Tail::Processed => facts.accumulation(),
        };
        Now {
            facts,
            a,
            step_each,
            tail,
            sums: Vec::new(),
            weighted: Vec::new(),
            together: vec![None; self.replicas.len()],
        }
    }

    fn microbatch(&mut self, world: &World<'_>, now: &mut Now, k: &MicrobatchPlan) {
        let batch = PaddedBatch::of(world.examples, &k.ids);
        let replica = k.facts.replica as usize;
        let weights = token_weights(self.convention.token_weights, &batch);
        let (losses, mut gradient) = gradient(world.network, &self.replicas[replica].parameters, &batch, &weights);
        let scored = || losses.iter().zip(&weights).filter(|(_, w)| **w > 0.0);
        now.sums.push(scored().map(|(l, _)| l).sum());
        now.weighted.push(scored().map(|(l, w)| l * w).sum());
        let (by_hand, scale) = (
            self.by_hand(now, &k.facts),
            self.scale_of(if now.step_each { 0 } else { k.facts.index }),
        );
        let factor = if by_hand {
            f64::NAN
        } else {
            self.convention.loss_factor(&now.facts, &k.facts)
        };
        scale_by(&mut gradient, factor * scale);
        self.counters.microbatches += 1;
        self.counters.examples += k.ids.len() as u64;
        self.counters.supervised_tokens += k.facts.supervised;
        self.own += u64::from(replica == 0);
        if self.recipe.zero_grad.before_backward() {
            self.replicas[replica].grad = None;
        }
        let parameters = gradient.len();
        // `zero_grad` before the next microbatch: what this one adds is gone.
        let cleared =
            self.convention.id == ConventionId::ZeroGradEachMicrobatch && !now.facts.is_last_on_replica(&k.facts);
        if cleared {
            return;
        }
        let mut contribution = (k.facts.supervised > 0 || by_hand).then_some(gradient);
        if self.recipe.sync == SyncMode::SingleBackward && !now.step_each {
            // One backward of the sum, when the replica's last forward is done.
            if let Some(gradient) = contribution.take() {
                add(&mut now.together[replica], gradient);
            }
            if now.facts.is_last_on_replica(&k.facts) {
                contribution = now.together[replica].take();
            }
        }
        if self.injected(world.setup, &k.facts) {
            contribution.get_or_insert_with(|| vec![0.0; parameters])[0] = f64::INFINITY;
        }
        if let Some(mut contribution) = contribution {
            self.clip_contribution(world.setup, &mut contribution, replica, now.a, scale);
            add(&mut self.replicas[replica].grad, contribution);
        } else if k.facts.supervised == 0 {
            // A gradient of zeros, not none.
            self.replicas[replica].grad.get_or_insert_with(|| vec![0.0; parameters]);
        }
    }

    fn by_hand(&self, now: &Now, k: &MicrobatchFacts) -> bool {
        self.recipe.empty_mean.enters_ignored() && self.convention.is_mean_of_none(&now.facts, k)
    }

    fn close(&mut self, setup: &Setup, now: &Now, index: u32) {
        let place = if now.step_each { 0 } else { index };
        if self.recipe.sync.reduces(place, now.a) {
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
        scale_by(gradient, coefficient(seen, max));
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
            scale_by(mean, 1.0 / count as f64);
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
            scale_by(grad, coefficient(seen, max));
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
            Some(_) if self.replicas.iter().all(|replica| replica.grad.is_none()) => {
                Outcome::Refused(ScalerError::NotChecked)
            }
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
                let Some(grad) = &replica.grad else { continue };
                let before = replica.parameters.clone();
                replica.optimizer.apply(&mut replica.parameters, grad, rate);
                if self.recipe.step == OptimizerStep::MovesSummed {
                    let after = std::mem::replace(&mut replica.parameters, before);
                    let moved = after.iter().zip(&replica.parameters).map(|(to, from)| to - from);
                    add(&mut replica.moves, moved.collect());
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
