//! What happened in one run. Only grows; nothing in it is ever lost to a fault.

use crate::{
    batch::{Counters, GroupPlan, Unit},
    protocol::{CellState, DeviceReport, GroupRow, LaneRow, MicrobatchRow, Outcome, RunFacts, RunId},
    setup::{Draft, Setup},
};

/// One run, as far as it got.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Which run.
    pub run: RunId,
    /// The form it was loaded from.
    pub draft: Draft,
    /// The experiment.
    pub setup: Setup,
    /// What was built.
    pub facts: Option<RunFacts>,
    /// The device it was loaded on.
    pub device: Option<DeviceReport>,
    /// Ended groups, in order.
    pub groups: Vec<GroupRow>,
    /// Columns for the charts, one a lane.
    pub lanes: Vec<LaneSeries>,
    /// The group being worked on or the last one seen.
    pub current: Option<CurrentGroup>,
}

/// The group being worked on.
#[derive(Clone, Debug, PartialEq)]
pub struct CurrentGroup {
    /// Who is in it.
    pub plan: GroupPlan,
    /// Each microbatch's state, in the plan's order: how far it got in the lane that got furthest. [`super::cells`] tells lanes apart.
    pub states: Vec<CellState>,
    /// Each microbatch's last row with numbers, in the plan's order; `None` until its backward is done or when not watched.
    pub rows: Vec<Option<MicrobatchRow>>,
    /// The group's result, once it ended.
    pub ended: Option<usize>,
}

/// Columns of one lane, one entry an ended group unless said otherwise.
#[derive(Clone, Debug, Default)]
pub struct LaneSeries {
    /// Counts after each group: the possible horizontal axes.
    pub counters: Vec<Counters>,
    /// Token-weighted loss; NaN where nothing was scored.
    pub weighted: Vec<f64>,
    /// Mean of microbatch means; NaN where nothing was scored.
    pub unweighted: Vec<f64>,
    /// Parameter distance to the first lane; NaN for the first lane itself.
    pub parameter_distance: Vec<f64>,
    /// Norm of the reduced gradient.
    pub gradient_norm: Vec<f64>,
    /// Attempts that changed nothing here, by the number of their group, and why.
    pub not_applied: Vec<(u64, Outcome)>,
    /// The loss scale used, one entry an attempt, with the attempts made by then; empty without one.
    pub scale: Vec<(u64, f64)>,
}

impl LaneSeries {
    /// Adds the group of that number.
    pub fn push(&mut self, number: u64, row: &LaneRow) {
        let skipped = row.changed_nothing().map(|outcome| (number, outcome));
        self.not_applied.extend(skipped);
        let scales = row.scales().map(|(attempts, scale)| (attempts, scale.used));
        self.scale.extend(scales);
        self.counters.push(row.counters);
        self.weighted.push(row.loss.token_weighted().unwrap_or(f64::NAN));
        self.unweighted.push(row.loss.mean_of_means().unwrap_or(f64::NAN));
        self.parameter_distance
            .push(row.apart.map_or(f64::NAN, |apart| apart.parameter_distance));
        self.gradient_norm.push(row.gradient_norm);
    }

    /// The horizontal coordinate of each entry, in `unit`.
    pub fn axis(&self, unit: Unit) -> impl Iterator<Item = f64> + '_ {
        self.counters.iter().map(move |counters| counters.get(unit) as f64)
    }
}

impl Recording {
    /// A run at its start.
    pub fn new(run: RunId, draft: Draft, setup: Setup) -> Self {
        let lanes = vec![LaneSeries::default(); setup.lanes.len()];
        Self {
            run,
            draft,
            setup,
            facts: None,
            device: None,
            groups: Vec::new(),
            lanes,
            current: None,
        }
    }

    /// A group begins.
    pub fn begin(&mut self, plan: GroupPlan) {
        let cells = plan.microbatches.len();
        self.current = Some(CurrentGroup {
            plan,
            states: vec![CellState::Waiting; cells],
            rows: vec![None; cells],
            ended: None,
        });
    }

    /// A microbatch of the current group got further.
    pub fn watch(&mut self, row: MicrobatchRow) {
        let Some(current) = self.current.as_mut().filter(|current| current.plan.number == row.group) else {
            return;
        };
        let Some(cell) = usize::try_from(row.cell).ok() else {
            return;
        };
        if let Some(state) = current.states.get_mut(cell) {
            *state = row.state;
        }
        if let Some(slot) = current.rows.get_mut(cell).filter(|_| !row.lanes.is_empty()) {
            *slot = Some(row);
        }
    }

    /// A group ended.
    pub fn end(&mut self, row: GroupRow) {
        let number = row.plan.number;
        for (series, lane) in self.lanes.iter_mut().zip(&row.lanes) {
            series.push(number, lane);
        }
        let ended = Some(self.groups.len());
        if self
            .current
            .as_ref()
            .is_none_or(|current| current.plan.number != number)
        {
            self.begin(row.plan.clone());
        }
        if let Some(current) = self.current.as_mut() {
            current.states.fill(ended_as(&row.lanes));
            current.ended = ended;
        }
        self.groups.push(row);
    }

    /// What `lane` did in the ended group at place `at` alone: counters only grow, so it is the difference to the one before.
    pub fn taken(&self, lane: usize, at: usize, unit: Unit) -> Option<u64> {
        let counters = &self.lanes.get(lane)?.counters;
        let before = at.checked_sub(1).and_then(|at| counters.get(at));
        let before = before.map_or(0, |counters| counters.get(unit));
        Some(counters.get(at)?.get(unit).saturating_sub(before))
    }

    /// The group that ended last.
    pub fn latest(&self) -> Option<&GroupRow> {
        self.groups.last()
    }

    /// Share of the budget that is done, 0 to 1.
    pub fn progress(&self) -> f64 {
        (self.done() as f64 / self.setup.budget.amount as f64).min(1.0)
    }

    /// The first lane's count in the budget's unit.
    pub fn done(&self) -> u64 {
        let last = self.lanes.first().and_then(|lane| lane.counters.last());
        last.map_or(0, |counters| counters.get(self.setup.budget.unit))
    }

    /// Milliseconds left at the pace so far; `None` before the first group.
    pub fn remaining_ms(&self) -> Option<f64> {
        let elapsed = self.groups.last()?.elapsed_ms;
        let done = self.done();
        (done > 0).then(|| elapsed / done as f64 * self.setup.budget.amount.saturating_sub(done) as f64)
    }
}

/// The state of a group's microbatches in the lane that got furthest: only an applied update took what was reduced.
fn ended_as(lanes: &[LaneRow]) -> CellState {
    let furthest = |lane: &LaneRow| match lane.ended() {
        Outcome::Applied => 2,
        Outcome::NonFiniteGradient | Outcome::Refused(_) | Outcome::Carried => 1,
        Outcome::NoSupervisedToken | Outcome::Dropped => 0,
    };
    match lanes.iter().map(furthest).max() {
        Some(2) => CellState::Reduced,
        Some(1) => CellState::Done,
        _ => CellState::Waiting,
    }
}
