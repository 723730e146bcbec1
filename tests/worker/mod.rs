//! A world without a browser, and a workshop without a device.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    pin::pin,
    rc::Rc,
    task::{Context, Poll, Waker},
};

use microbatch_lab::{
    batch::{Counters, Example, ExampleId, GroupLoss, GroupPlan, IGNORE_INDEX},
    bridge::{
        pilot::{World, serve},
        trainer::{Advance, Trainer, Workshop},
    },
    protocol::{
        CellState, Command, DeviceReport, Event, Fault, FitReport, FitTry, Fixture, FullBatch, GroupRow, LaneRow,
        MicrobatchRow, Outcome, PreflightReport, Preparation, ProbeReport, ReplicaSpread, RunFacts, RunId, SelfCheck,
    },
    setup::{Draft, Setup, parse::parse},
};

/// A command that loads the default experiment.
pub(crate) fn load(run: u32) -> Command {
    let setup = parse(&Draft::default()).expect("the default draft");
    Command::Load {
        run: RunId(run),
        setup: Box::new(setup),
        own_text: None,
    }
}

/// A command that loads a run that is given.
pub(crate) fn load_fixture(run: u32) -> Command {
    Command::LoadFixture {
        run: RunId(run),
        fixture: Box::new(Fixture {
            setup: parse(&Draft::default()).expect("the default draft"),
            vocabulary: 3,
            start: vec![0.5, -1.0e-30],
            examples: vec![Example {
                id: ExampleId(0),
                tokens: vec![1, 2],
                labels: vec![2, IGNORE_INDEX],
            }],
        }),
    }
}

/// What the trainer is like.
#[derive(Clone)]
pub(crate) struct Trial {
    /// Groups until the budget.
    pub(crate) groups: u64,
    /// Microbatches of a group.
    pub(crate) cells: u32,
    /// Milliseconds that a microbatch takes.
    pub(crate) cell_ms: f64,
    /// Milliseconds that opening takes.
    pub(crate) open_ms: f64,
    /// The error that the check finds.
    pub(crate) check_error: f64,
    /// A group without any supervised token.
    pub(crate) empty_group: Option<u64>,
    /// Microbatches of a check or a fit.
    pub(crate) work: u32,
    /// The group that fails, and how.
    pub(crate) fails_at: Option<(u64, Fault)>,
}

impl Default for Trial {
    fn default() -> Self {
        Self {
            groups: 10,
            cells: 4,
            cell_ms: 1.0,
            open_ms: 0.0,
            check_error: 0.0,
            empty_group: None,
            work: 0,
            fails_at: None,
        }
    }
}

/// What came of a trial.
pub(crate) struct Told {
    /// When, and what, message by message.
    pub(crate) messages: Vec<(f64, Vec<Event>)>,
    /// The longest time in milliseconds without the event loop turning.
    pub(crate) longest_turn_ms: f64,
    /// Whether the last run ended between two groups.
    pub(crate) between_groups: bool,
}

impl Told {
    pub(crate) fn events(&self) -> Vec<Event> {
        self.messages.iter().flat_map(|(_, events)| events.clone()).collect()
    }

    pub(crate) fn last_ms(&self) -> f64 {
        self.messages.last().map_or(0.0, |(at, _)| *at)
    }

    /// When the first such event was told.
    pub(crate) fn at(&self, is: impl Fn(&Event) -> bool) -> f64 {
        self.messages
            .iter()
            .find(|(_, events)| events.iter().any(&is))
            .expect("such an event")
            .0
    }
}

impl Trial {
    /// Lets the worker live until every command is obeyed and nothing moves any more.
    pub(crate) fn run(self, script: impl IntoIterator<Item = (u32, Command)>) -> Told {
        let script = script
            .into_iter()
            .map(|(at, command)| (f64::from(at), command))
            .collect();
        let clock = Rc::new(Cell::new(0.0));
        let world = Fake {
            clock: Rc::clone(&clock),
            script: RefCell::new(script),
            messages: RefCell::default(),
            turned_ms: Cell::default(),
            longest_turn_ms: Cell::default(),
        };
        let between_groups = Rc::new(Cell::new(true));
        let bench = Bench {
            trial: self,
            clock,
            between_groups: Rc::clone(&between_groups),
        };
        let mut context = Context::from_waker(Waker::noop());
        // Nothing in it ever waits for anything outside.
        assert_eq!(pin!(serve(&world, bench)).poll(&mut context), Poll::Ready(()));
        Told {
            messages: world.messages.into_inner(),
            longest_turn_ms: world.longest_turn_ms.get(),
            between_groups: between_groups.get(),
        }
    }
}

struct Fake {
    clock: Rc<Cell<f64>>,
    script: RefCell<VecDeque<(f64, Command)>>,
    messages: RefCell<Vec<(f64, Vec<Event>)>>,
    turned_ms: Cell<f64>,
    longest_turn_ms: Cell<f64>,
}

impl World for Fake {
    fn now_ms(&self) -> f64 {
        self.clock.get()
    }

    fn post(&self, events: &[Event]) {
        assert!(!events.is_empty(), "an empty message");
        self.messages.borrow_mut().push((self.clock.get(), events.to_vec()));
    }

    fn take(&self) -> Option<Command> {
        let mut script = self.script.borrow_mut();
        let due = script.front().is_some_and(|(at, _)| *at <= self.clock.get());
        if due {
            script.pop_front().map(|(_, command)| command)
        } else {
            None
        }
    }

    async fn wait(&self, ms: Option<u32>) -> bool {
        let now = self.clock.get();
        self.longest_turn_ms
            .set(self.longest_turn_ms.get().max(now - self.turned_ms.get()));
        let next = self.script.borrow().front().map(|(at, _)| at.max(now));
        let until = match (ms, next) {
            (Some(ms), next) => (now + f64::from(ms)).min(next.unwrap_or(f64::INFINITY)),
            (None, Some(next)) => next,
            (None, None) => return false,
        };
        self.clock.set(until);
        self.turned_ms.set(until);
        true
    }
}

struct Bench {
    trial: Trial,
    clock: Rc<Cell<f64>>,
    between_groups: Rc<Cell<bool>>,
}

impl Bench {
    fn idle(&self) -> Idle {
        let (trial, clock) = (self.trial.clone(), Rc::clone(&self.clock));
        Idle {
            trial,
            clock,
            between_groups: Rc::clone(&self.between_groups),
            group: 0,
            place: Place::Between,
        }
    }
}

impl Workshop for Bench {
    type Trainer = Idle;

    async fn open(&mut self) -> Result<DeviceReport, Fault> {
        self.clock.set(self.clock.get() + self.trial.open_ms);
        Ok(DeviceReport {
            kind: "cpu".to_owned(),
            adapter: None,
            open_ms: self.trial.open_ms,
        })
    }

    async fn check(&mut self) -> Result<SelfCheck, Fault> {
        Ok(SelfCheck {
            gradient_error: self.trial.check_error,
            loss_error: 0.0,
            tolerance: 1e-4,
            took_ms: 0.0,
        })
    }

    async fn load(&mut self, _: &Setup, _: Option<&str>, _: &dyn Fn(Preparation)) -> Result<Idle, Fault> {
        Ok(self.idle())
    }

    async fn load_fixture(&mut self, _: Fixture, _: &dyn Fn(Preparation)) -> Result<Idle, Fault> {
        Ok(self.idle())
    }

    async fn preflight(
        &mut self,
        _: &Setup,
        _: Option<&str>,
        go_on: &impl AsyncFn() -> bool,
    ) -> Result<PreflightReport, Fault> {
        for _ in 0..self.trial.work {
            self.clock.set(self.clock.get() + self.trial.cell_ms);
            if !go_on().await {
                return Err(Fault::Stopped);
            }
        }
        Ok(PreflightReport { checks: Vec::new() })
    }

    async fn fit(
        &mut self,
        _: &Setup,
        _: Option<&str>,
        limit: u64,
        go_on: &impl AsyncFn(Option<FitTry>) -> bool,
    ) -> Result<FitReport, Fault> {
        let tried = FitTry {
            microbatch: 1,
            peak: limit + 1,
            fits: false,
        };
        go_on(Some(tried)).await;
        for _ in 0..self.trial.work {
            self.clock.set(self.clock.get() + self.trial.cell_ms);
            if !go_on(None).await {
                return Err(Fault::Stopped);
            }
        }
        Ok(FitReport {
            limit,
            target: 1,
            tries: vec![tried],
            split: None,
        })
    }
}

/// Where an [`Idle`] stands: between groups, before a microbatch, or with its forward done.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Between,
    Before(u32),
    Forwarded(u32),
}

struct Idle {
    trial: Trial,
    clock: Rc<Cell<f64>>,
    between_groups: Rc<Cell<bool>>,
    group: u64,
    place: Place,
}

impl Idle {
    fn plan(&self) -> GroupPlan {
        GroupPlan {
            number: self.group,
            epoch: 0,
            partial: false,
            replicas: 1,
            nominal_accumulation: self.trial.cells,
            microbatches: Vec::new(),
        }
    }

    fn is_empty(&self) -> bool {
        self.trial.empty_group == Some(self.group)
    }

    fn updated(&mut self) -> Advance {
        let counters = Counters {
            update_attempts: self.group + 1,
            ..Counters::default()
        };
        let lane = LaneRow {
            inner: Vec::new(),
            outcome: Outcome::Applied,
            loss_sums: Vec::new(),
            loss: GroupLoss::from_sums([]),
            logged_loss: 1.0,
            gradient_norm: 1.0,
            clip_norms: Vec::new(),
            scale: None,
            batch_norm: None,
            rate: 0.1,
            counters,
            checksums: None,
            apart: None,
            replicas: ReplicaSpread::InStep,
        };
        let row = GroupRow {
            plan: self.plan(),
            dropped: Vec::new(),
            lanes: vec![lane],
            elapsed_ms: self.clock.get(),
            memory: None,
        };
        self.group += 1;
        self.place = Place::Between;
        Advance::Updated(Box::new(row))
    }

    fn row(&self, cell: u32, state: CellState) -> Advance {
        Advance::Microbatch(vec![MicrobatchRow {
            group: self.group,
            cell,
            state,
            lanes: Vec::new(),
        }])
    }
}

impl Trainer for Idle {
    fn facts(&self) -> RunFacts {
        RunFacts {
            parameters: 1,
            vocabulary: 2,
            examples: 3,
            groups_per_epoch: 4,
            dropped_per_epoch: 0,
            dropped: Vec::new(),
            repeated_per_epoch: 0,
            memory: None,
        }
    }

    async fn probe(&mut self, full_batch: FullBatch) -> Result<ProbeReport, Fault> {
        Ok(ProbeReport {
            group: self.group,
            applied_updates: 0,
            supervised_tokens: 1,
            full_batch,
            full_batch_norm: 1.0,
            rows: Vec::new(),
            noise_floor: 0.0,
            backwards: 1,
            elapsed_ms: 0.0,
        })
    }

    fn at_group_boundary(&self) -> bool {
        self.place == Place::Between
    }

    fn is_finished(&self) -> bool {
        self.at_group_boundary() && self.group >= self.trial.groups
    }

    fn next_cell(&self) -> Option<u32> {
        match self.place {
            Place::Before(cell) | Place::Forwarded(cell) if cell < self.trial.cells && !self.is_empty() => Some(cell),
            Place::Before(_) | Place::Forwarded(_) | Place::Between => None,
        }
    }

    async fn advance(&mut self, watch: bool) -> Result<Advance, Fault> {
        if let Some((_, fault)) = self.trial.fails_at.as_ref().filter(|(group, _)| *group == self.group) {
            return Err(fault.clone());
        }
        let did = match self.place {
            Place::Between if self.group >= self.trial.groups => Advance::Finished,
            Place::Between => {
                self.place = Place::Before(0);
                Advance::Began(self.plan())
            }
            Place::Before(cell) if cell >= self.trial.cells || self.is_empty() => self.updated(),
            Place::Before(cell) if watch => {
                self.place = Place::Forwarded(cell);
                self.row(cell, CellState::Backward)
            }
            Place::Before(cell) | Place::Forwarded(cell) => {
                self.clock.set(self.clock.get() + self.trial.cell_ms);
                self.place = Place::Before(cell + 1);
                self.row(cell, CellState::Done)
            }
        };
        self.between_groups.set(self.at_group_boundary());
        Ok(did)
    }
}
