//! One loaded run in the worker: what it was told to do, and where it may stop.

use super::{
    outbox::Outbox,
    trainer::{Advance, Trainer},
};
use crate::protocol::{
    CellState, Event, Fault, FullBatch, MicrobatchRow, ProbeReport, RunFacts, RunId, RunState, StepBy,
};

/// What a run was told to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Standing,
    Running,
    /// Running until it may stop.
    Pausing,
    Stepping(StepBy),
    Finished,
}

/// A run that is loaded.
pub(super) struct Active<T> {
    /// Its number.
    pub(super) run: RunId,
    /// Milliseconds of slow motion after each microbatch; 0 is full speed.
    pub(super) pause_ms: u32,
    trainer: T,
    mode: Mode,
    group: u64,
    cell: Cell,
}

/// Where the run stands with the microbatch that is being watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cell {
    /// Between two.
    None,
    /// The page was told that its forward is next.
    Announced,
    /// Its forward is done.
    Forwarded,
}

impl<T: Trainer> Active<T> {
    pub(super) fn new(run: RunId, trainer: T) -> Self {
        Self {
            run,
            pause_ms: 0,
            trainer,
            mode: Mode::Standing,
            group: 0,
            cell: Cell::None,
        }
    }

    pub(super) fn facts(&self) -> RunFacts {
        self.trainer.facts()
    }

    /// All conventions at this point; only where it is a boundary between groups.
    pub(super) async fn probe(&mut self, full_batch: FullBatch) -> Result<ProbeReport, Fault> {
        if self.trainer.at_group_boundary() {
            self.trainer.probe(full_batch).await
        } else {
            Err(Fault::InsideGroup)
        }
    }

    pub(super) fn moves(&self) -> bool {
        matches!(self.mode, Mode::Running | Mode::Pausing | Mode::Stepping(_))
    }

    /// Whether each microbatch is shown.
    pub(super) fn watched(&self) -> bool {
        self.pause_ms > 0 || matches!(self.mode, Mode::Stepping(StepBy::Microbatch | StepBy::Update))
    }

    pub(super) fn run(&mut self, outbox: &mut Outbox) {
        self.go(Mode::Running, outbox);
    }

    pub(super) fn step(&mut self, by: StepBy, outbox: &mut Outbox) {
        self.go(Mode::Stepping(by), outbox);
    }

    fn go(&mut self, mode: Mode, outbox: &mut Outbox) {
        if self.mode == Mode::Finished {
            self.say(RunState::Finished, outbox);
        } else {
            self.mode = mode;
            self.say(RunState::Running, outbox);
        }
    }

    /// A step ends by itself, soon; a run goes on to where it may stop.
    pub(super) fn pause(&mut self, outbox: &mut Outbox) {
        match self.mode {
            Mode::Running => {
                self.mode = Mode::Pausing;
                if self.may_stop() {
                    self.stand(outbox);
                }
            }
            Mode::Standing => self.say(RunState::Paused, outbox),
            Mode::Finished => self.say(RunState::Finished, outbox),
            Mode::Pausing | Mode::Stepping(_) => {}
        }
    }

    /// Does one small thing and reports it; says how many milliseconds to let it be seen.
    pub(super) async fn advance(&mut self, outbox: &mut Outbox, now_ms: f64) -> Result<u32, Fault> {
        let watched = self.watched();
        if let Some(cell) = self.trainer.next_cell().filter(|_| watched && self.cell == Cell::None) {
            self.cell = Cell::Announced;
            let row = MicrobatchRow {
                group: self.group,
                cell,
                state: CellState::Forward,
                lanes: Vec::new(),
            };
            outbox.microbatches(vec![row], watched);
            return Ok(self.pause_part());
        }
        match self.trainer.advance(watched).await? {
            Advance::Began(plan) => {
                self.group = plan.number;
                outbox.began(self.run, plan, now_ms, watched);
                // Nothing is done yet, so no step ends here.
                return Ok(self.pause_part());
            }
            Advance::Microbatch(rows) => {
                let forwarded = rows.last().is_some_and(|row| row.state == CellState::Backward);
                self.cell = if forwarded { Cell::Forwarded } else { Cell::None };
                outbox.microbatches(rows, watched);
            }
            Advance::Updated(row) => {
                self.cell = Cell::None;
                outbox.updated(self.run, *row, watched);
                if self.may_stop() {
                    self.stand(outbox);
                }
                // What the group was for stays as long as a whole microbatch does.
                return Ok(if self.mode == Mode::Running { self.pause_ms } else { 0 });
            }
            Advance::Finished => {
                self.mode = Mode::Finished;
                self.say(RunState::Finished, outbox);
            }
        }
        if self.may_stop() {
            self.stand(outbox);
        }
        Ok(self.pause_part())
    }

    /// A microbatch is seen in three states: forward, backward, done.
    fn pause_part(&self) -> u32 {
        // A run that is to stop does not make the person wait for it.
        if self.mode == Mode::Pausing {
            0
        } else {
            self.pause_ms.div_ceil(3)
        }
    }

    /// At a group's boundary everything may stop; between microbatches only what shows each of them. The last microbatch of a group
    /// is followed by the update, so that every step by microbatch does exactly one.
    fn may_stop(&self) -> bool {
        let between_groups = self.trainer.at_group_boundary();
        let between = between_groups || (self.cell == Cell::None && self.trainer.next_cell().is_some());
        match self.mode {
            Mode::Pausing if self.pause_ms > 0 => between,
            Mode::Pausing | Mode::Stepping(StepBy::Update | StepBy::UpdateAtFullSpeed) => between_groups,
            Mode::Stepping(StepBy::Microbatch) => between,
            Mode::Standing | Mode::Running | Mode::Finished => false,
        }
    }

    /// After the last update a run does not wait to be told to go on: it is finished.
    fn stand(&mut self, outbox: &mut Outbox) {
        let (mode, state) = if self.trainer.is_finished() {
            (Mode::Finished, RunState::Finished)
        } else {
            (Mode::Standing, RunState::Paused)
        };
        self.mode = mode;
        self.say(state, outbox);
    }

    fn say(&self, state: RunState, outbox: &mut Outbox) {
        outbox.say(Event::State { run: self.run, state });
    }
}
