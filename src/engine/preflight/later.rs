//! What more than one group shows of a lane: what is left behind, what becomes of a partial group, the rate, and the log.

use super::{
    checks::{ORACLE_TOLERANCE, furthest, within},
    evidence::Evidence,
    oracle::Expected,
};
use crate::{
    batch::{Counters, GroupPlan, LaneRule, TokenWeights, logged::logged_loss, recipe::Logged, scheduler_clock::Clock},
    protocol::{CheckKind, LaneRow, Outcome, PreflightCheck},
    setup::Setup,
};

/// Rates and logs are f64 arithmetic.
const ARITHMETIC: f64 = 1e-9;

/// One lane, group after group.
pub(super) struct Later<'a> {
    index: u32,
    rule: LaneRule,
    setup: &'a Setup,
    /// What a right loop would have counted.
    counted: Counters,
    /// Applied updates as the lane counted them.
    applied: u64,
    gradient: Option<f64>,
    partial: Option<f64>,
    rate: Option<(f64, f64)>,
    logged: Option<PreflightCheck>,
}

impl<'a> Later<'a> {
    pub(super) fn new(index: u32, rule: LaneRule, setup: &'a Setup) -> Self {
        Self {
            index,
            rule,
            setup,
            counted: Counters::default(),
            applied: 0,
            gradient: None,
            partial: None,
            rate: None,
            logged: None,
        }
    }

    /// Takes the gradient of a group after the first. One that was not used is no gradient of that group.
    pub(super) fn gradient(&mut self, row: &LaneRow, seen: &Evidence, expected: Option<&Expected>) {
        let used = !matches!(row.outcome, Outcome::Dropped | Outcome::Carried);
        let Some(expected) = expected.filter(|_| used) else {
            return;
        };
        let off = furthest(&seen.gradients, &expected.gradient);
        let worse = |so_far: f64| so_far.is_nan() || so_far > off;
        if !self.gradient.is_some_and(worse) {
            self.gradient = Some(off);
        }
    }

    /// Takes what the log of the first group says. The lane's own losses are what it trained on, unless its convention weighs tokens in a
    /// way of its own: then the oracle's are.
    pub(super) fn logged(&mut self, plan: &GroupPlan, row: &LaneRow, expected: Option<&Expected>) {
        let mut recipe = self.rule.recipe();
        recipe.logged = Logged::Trained;
        let convention = self.rule.convention();
        let trained = |sums: &[f64]| logged_loss(convention, &recipe, &plan.facts(), sums);
        let (expected, tolerance) = match (convention.token_weights, expected) {
            (TokenWeights::Uniform, _) => (trained(&row.loss_sums), ARITHMETIC),
            (_, Some(expected)) => (trained(&expected.loss_sums), ORACLE_TOLERANCE),
            (_, None) => return,
        };
        let tolerance = tolerance * expected.abs();
        let (kind, lane) = (CheckKind::LoggedLoss, Some(self.index));
        self.logged = Some(within(kind, lane, row.logged_loss, expected, tolerance));
    }

    /// Takes how a group ended, each in turn.
    pub(super) fn follow(&mut self, plan: &GroupPlan, row: &LaneRow) {
        let applied = row.counters.applied_updates;
        if plan.partial && self.partial.is_none() {
            self.partial = Some(applied.saturating_sub(self.applied) as f64);
        }
        self.applied = applied;
        let attempted = matches!(
            row.outcome,
            Outcome::Applied | Outcome::NonFiniteGradient | Outcome::Refused(_)
        );
        if attempted {
            let clock = Clock {
                unit: self.setup.schedule_unit,
                fault: None,
            };
            let due = self
                .setup
                .schedule
                .rate(clock.steps(&self.counted, plan.facts().accumulation()));
            let off = |(used, due): (f64, f64)| (used - due).abs();
            if self.rate.is_none_or(|rate| off((row.rate, due)) > off(rate)) {
                self.rate = Some((row.rate, due));
            }
        }
        self.count(plan, row.outcome);
    }

    fn count(&mut self, plan: &GroupPlan, outcome: Outcome) {
        let own = plan.microbatches.iter().filter(|k| k.facts.replica == 0).count();
        let counted = &mut self.counted;
        counted.microbatches += own as u64;
        counted.update_attempts += 1;
        counted.applied_updates += u64::from(outcome == Outcome::Applied);
        counted.examples += plan.examples();
        counted.supervised_tokens += plan.supervised();
        counted.padded_tokens += plan.microbatches.iter().map(|k| k.padded).sum::<u64>();
    }

    /// `partial`: whether the setup has partial groups processed.
    pub(super) fn checks(self, partial: bool) -> Vec<PreflightCheck> {
        let lane = Some(self.index);
        let next = self
            .gradient
            .map(|off| within(CheckKind::NextGroup, lane, off, 0.0, ORACLE_TOLERANCE));
        let partial = self.partial.filter(|_| partial);
        let partial = partial.map(|applied| within(CheckKind::PartialGroup, lane, applied, 1.0, 0.0));
        let scheduled = self.setup.schedule.shape != crate::batch::ScheduleShape::Constant;
        let rate = self.rate.filter(|_| scheduled);
        let rate = rate.map(|(used, due)| within(CheckKind::LearningRate, lane, used, due, due.abs() * ARITHMETIC));
        [next, partial, rate, self.logged].into_iter().flatten().collect()
    }
}
