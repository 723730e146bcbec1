//! The worker's loop: obey what came, do one small thing, tell what is due, let the event loop turn.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
};

use super::{outbox::Outbox, run::Active, trainer::Workshop};
use crate::{
    protocol::{
        Command, Event, Fault, FitReport, FitTry, FullBatch, PreflightReport, Preparation, RunId, SelfCheck, VERSION,
    },
    setup::Setup,
};

/// At full speed the event loop turns at least this often, in milliseconds, so that a command waits no longer.
const TURN_MS: f64 = 8.0;

/// The world around the loop: a browser, or a test.
#[expect(async_fn_in_trait, reason = "a worker has one thread, so nothing needs to be Send")]
pub trait World {
    /// Milliseconds since some fixed moment.
    fn now_ms(&self) -> f64;

    /// Sends one message.
    fn post(&self, events: &[Event]);

    /// The oldest command that is not yet obeyed.
    fn take(&self) -> Option<Command>;

    /// Lets the event loop turn for this long, or until a command comes if `None`; a command cuts any wait short. False ends the loop.
    async fn wait(&self, ms: Option<u32>) -> bool;
}

/// Serves the page until the world ends.
pub async fn serve(world: &impl World, workshop: impl Workshop) {
    world.post(&[Event::Ready { version: VERSION }]);
    let mut pilot = Pilot {
        workshop,
        device: Device::Closed,
        active: None,
        newest: RunId::default(),
        inbox: RefCell::default(),
        outbox: Outbox::default(),
    };
    loop {
        pilot.obey_all(world).await;
        let wait = pilot.turn(world).await;
        if !world.wait(wait).await {
            return;
        }
    }
}

struct Pilot<W: Workshop> {
    workshop: W,
    device: Device,
    active: Option<Active<W::Trainer>>,
    /// The newest run that was asked for; commands for older ones are late, not wrong.
    newest: RunId,
    /// Commands that came and are not yet obeyed.
    inbox: RefCell<VecDeque<Command>>,
    outbox: Outbox,
}

/// Between two small things of a long work: lets the event loop turn where it is due, and looks at what came meanwhile.
struct Breath<'a, W: World> {
    world: &'a W,
    inbox: &'a RefCell<VecDeque<Command>>,
    turned_ms: Cell<f64>,
}

impl<'a, W: World> Breath<'a, W> {
    fn new(world: &'a W, inbox: &'a RefCell<VecDeque<Command>>) -> Self {
        Self {
            world,
            inbox,
            turned_ms: Cell::new(world.now_ms()),
        }
    }

    /// Whether nothing came that ends the work.
    async fn go_on(&self) -> bool {
        if self.world.now_ms() - self.turned_ms.get() >= TURN_MS {
            if !self.world.wait(Some(0)).await {
                return false;
            }
            self.turned_ms.set(self.world.now_ms());
        }
        let mut inbox = self.inbox.borrow_mut();
        inbox.extend(std::iter::from_fn(|| self.world.take()));
        !inbox.iter().any(ends_work)
    }
}

/// Whoever turns to a run does not wait for a check or a fit.
fn ends_work(command: &Command) -> bool {
    loads(command)
        || matches!(
            command,
            Command::Stop | Command::Run(_) | Command::Pause(_) | Command::Step(..)
        )
}

enum Device {
    Closed,
    Usable,
    Refused(Fault),
}

impl<W: Workshop> Pilot<W> {
    async fn obey_all(&mut self, world: &impl World) {
        loop {
            // Again after each, since a command may take long and others come meanwhile.
            let Some(command) = self.next_command(world) else {
                return;
            };
            if loads(&command) && self.inbox.borrow().iter().any(loads) {
                continue;
            }
            self.obey(world, command).await;
            self.post_due(world);
        }
    }

    fn next_command(&self, world: &impl World) -> Option<Command> {
        let mut inbox = self.inbox.borrow_mut();
        inbox.extend(std::iter::from_fn(|| world.take()));
        inbox.pop_front()
    }

    async fn obey(&mut self, world: &impl World, command: Command) {
        match command {
            Command::Open => self.open(world).await,
            Command::Load { run, setup, own_text } => {
                self.load(world, run, async |workshop, say| {
                    workshop.load(&setup, own_text.as_deref(), say).await
                })
                .await;
            }
            Command::LoadFixture { run, fixture } => {
                self.load(world, run, async |workshop, say| {
                    workshop.load_fixture(*fixture, say).await
                })
                .await;
            }
            Command::Run(run) => self.on_run(run, Active::run),
            Command::Pause(run) => self.on_run(run, Active::pause),
            Command::Step(run, by) => self.on_run(run, |active, outbox| active.step(by, outbox)),
            Command::Pace { run, pause_ms } => self.on_run(run, |active, _| active.pause_ms = pause_ms),
            Command::Probe { run, full_batch } => self.probe(run, full_batch).await,
            // Nothing is going on that it could stop.
            Command::Stop => {}
            Command::Preflight { setup, own_text } => {
                let report = self.preflight(world, &setup, own_text.as_deref()).await;
                self.outbox.say(Event::Preflighted(report));
            }
            Command::Fit { setup, own_text, limit } => {
                let report = self.fit(world, &setup, own_text.as_deref(), limit).await;
                self.outbox.say(Event::Fitted(report));
            }
        }
    }

    async fn preflight(
        &mut self,
        world: &impl World,
        setup: &Setup,
        own_text: Option<&str>,
    ) -> Result<PreflightReport, Fault> {
        self.usable()?;
        let breath = Breath::new(world, &self.inbox);
        let go_on = async || breath.go_on().await;
        self.workshop.preflight(setup, own_text, &go_on).await
    }

    async fn fit(
        &mut self,
        world: &impl World,
        setup: &Setup,
        own_text: Option<&str>,
        limit: u64,
    ) -> Result<FitReport, Fault> {
        self.usable()?;
        let breath = Breath::new(world, &self.inbox);
        let go_on = async |tried: Option<FitTry>| {
            if let Some(tried) = tried {
                world.post(&[Event::FitTried(tried)]);
            }
            breath.go_on().await
        };
        self.workshop.fit(setup, own_text, limit, &go_on).await
    }

    fn on_run(&mut self, run: RunId, act: impl FnOnce(&mut Active<W::Trainer>, &mut Outbox)) {
        match self.active.as_mut().filter(|active| active.run == run) {
            Some(active) => act(active, &mut self.outbox),
            // Late, or its run ended in a fault that was told already.
            None if run <= self.newest => {}
            None => self.fault(Some(run), Fault::NoSuchRun),
        }
    }

    async fn probe(&mut self, run: RunId, full_batch: FullBatch) {
        let Some(active) = self.active.as_mut().filter(|active| active.run == run) else {
            return self.on_run(run, |_, _| {});
        };
        let report = active.probe(full_batch).await;
        self.outbox.say(Event::Probed { run, report });
    }

    fn usable(&self) -> Result<(), Fault> {
        match &self.device {
            Device::Usable => Ok(()),
            Device::Closed => Err(Fault::NoSuchRun),
            Device::Refused(fault) => Err(fault.clone()),
        }
    }

    async fn open(&mut self, world: &impl World) {
        world.post(&[Event::Preparing(Preparation::OpeningDevice)]);
        self.device = match self.open_and_check(world).await {
            Ok(()) => Device::Usable,
            Err(fault) => {
                self.fault(None, fault.clone());
                Device::Refused(fault)
            }
        };
    }

    async fn open_and_check(&mut self, world: &impl World) -> Result<(), Fault> {
        world.post(&[Event::Opened(self.workshop.open().await?)]);
        let check = self.workshop.check().await?;
        world.post(&[Event::Checked(check.clone())]);
        if check.passed() { Ok(()) } else { Err(refusal(&check)) }
    }

    /// Replaces the run before by what `build` makes.
    async fn load(
        &mut self,
        world: &impl World,
        run: RunId,
        build: impl AsyncFnOnce(&mut W, &dyn Fn(Preparation)) -> Result<W::Trainer, Fault>,
    ) {
        self.active = None;
        self.outbox.forget_group();
        self.newest = run;
        let say = |preparation| world.post(&[Event::Preparing(preparation)]);
        let built = match self.usable() {
            Ok(()) => {
                say(Preparation::Building);
                build(&mut self.workshop, &say).await
            }
            Err(fault) => Err(fault),
        };
        match built {
            Ok(trainer) => {
                let active = Active::new(run, trainer);
                let facts = active.facts();
                self.outbox.say(Event::Loaded { run, facts });
                self.active = Some(active);
            }
            Err(fault) => self.fault(Some(run), fault),
        }
    }

    /// Does what one turn of the event loop has room for; says how long to wait before the next.
    async fn turn(&mut self, world: &impl World) -> Option<u32> {
        let started_ms = world.now_ms();
        let wait = loop {
            let Some(active) = self.active.as_mut().filter(|active| active.moves()) else {
                break None;
            };
            let watched = active.watched();
            match active.advance(&mut self.outbox, world.now_ms()).await {
                Ok(_) if !active.moves() => break None,
                Ok(pause_ms) if watched => break Some(pause_ms),
                Ok(_) if world.now_ms() - started_ms >= TURN_MS => break Some(0),
                Ok(_) => self.post_due(world),
                Err(fault) => {
                    let run = active.run;
                    self.active = None;
                    self.fault(Some(run), fault);
                    break None;
                }
            }
        };
        self.post_due(world);
        wait
    }

    /// A lost device concerns every run, so no run is named.
    fn fault(&mut self, run: Option<RunId>, fault: Fault) {
        let run = run.filter(|_| !matches!(fault, Fault::DeviceLost { .. }));
        self.outbox.say(Event::Fault { run, fault });
    }

    fn post_due(&mut self, world: &impl World) {
        if let Some(events) = self.outbox.due(world.now_ms()) {
            world.post(&events);
        }
    }
}

fn loads(command: &Command) -> bool {
    matches!(command, Command::Load { .. } | Command::LoadFixture { .. })
}

fn refusal(check: &SelfCheck) -> Fault {
    Fault::DeviceComputesWrongly {
        gradient_error: check.gradient_error,
        loss_error: check.loss_error,
        tolerance: check.tolerance,
    }
}
