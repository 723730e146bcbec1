//! A worker of the product, driven one update at a time.

use std::{
    cell::RefCell,
    collections::VecDeque,
    future::poll_fn,
    rc::Rc,
    task::{Poll, Waker},
};

use microbatch_lab::{
    bridge::Client,
    protocol::{Command, DeviceKind, Event, Fault, Fixture, FullBatch, GroupRow, ProbeReport, RunId, RunState, StepBy},
    setup::Setup,
};

/// The only run of a worker.
const RUN: RunId = RunId(1);

/// A worker with its device open and checked.
pub(crate) struct Training {
    client: Client,
    inbox: Rc<Inbox>,
}

/// One ended update.
pub(crate) struct Ended {
    /// When the page heard of it, in milliseconds since navigation.
    pub(crate) heard_ms: f64,
    pub(crate) row: GroupRow,
}

/// What came and is not yet looked at, with the time at which it came.
#[derive(Default)]
struct Inbox {
    events: RefCell<VecDeque<(f64, Event)>>,
    waker: RefCell<Option<Waker>>,
}

impl Inbox {
    fn put(&self, events: impl IntoIterator<Item = Event>) {
        let heard_ms = now_ms();
        let events = events.into_iter().map(|event| (heard_ms, event));
        self.events.borrow_mut().extend(events);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    async fn next(&self) -> (f64, Event) {
        poll_fn(|context| {
            if let Some(event) = self.events.borrow_mut().pop_front() {
                return Poll::Ready(event);
            }
            self.waker.replace(Some(context.waker().clone()));
            Poll::Pending
        })
        .await
    }
}

impl Training {
    /// Starts the worker of `device` as the product does, self-check included.
    pub(crate) async fn start(device: DeviceKind) -> Result<Self, Fault> {
        let inbox = Rc::new(Inbox::default());
        let (heard, died) = (Rc::clone(&inbox), Rc::clone(&inbox));
        let client = Client::spawn(
            device,
            move |events| heard.put(events),
            move |fault| died.put([Event::Fault { run: None, fault }]),
        )?;
        let training = Self { client, inbox };
        training
            .until(|event| matches!(event, Event::Ready { .. }).then_some(()))
            .await?;
        training.client.send(&Command::Open)?;
        // A failed check is followed by a fault, which ends the wait for what is loaded next.
        training
            .until(|event| matches!(event, Event::Checked(_)).then_some(()))
            .await?;
        Ok(training)
    }

    /// Loads a run that is given.
    pub(crate) async fn load(&self, fixture: Fixture) -> Result<(), Fault> {
        let fixture = Box::new(fixture);
        self.loaded(&Command::LoadFixture { run: RUN, fixture }).await
    }

    /// Loads a run as the page does.
    pub(crate) async fn load_setup(&self, setup: Setup) -> Result<(), Fault> {
        let (setup, own_text) = (Box::new(setup), None);
        let run = RUN;
        self.loaded(&Command::Load { run, setup, own_text }).await
    }

    async fn loaded(&self, command: &Command) -> Result<(), Fault> {
        self.client.send(command)?;
        self.until(|event| matches!(event, Event::Loaded { .. }).then_some(()))
            .await?;
        Ok(())
    }

    /// One update at full speed. Its row is read back from the device after everything that the update computes.
    pub(crate) async fn update(&self) -> Result<Ended, Fault> {
        self.client.send(&Command::Step(RUN, StepBy::UpdateAtFullSpeed))?;
        let ended = self.until(last_row).await?;
        self.until(|event| stands(&event).then_some(())).await?;
        let (heard_ms, row) = ended;
        Ok(Ended { heard_ms, row })
    }

    /// Trains without a stop; `each` is told of every row until it answers false.
    pub(crate) async fn run(&self, mut each: impl FnMut(GroupRow) -> bool) -> Result<(), Fault> {
        self.client.send(&Command::Run(RUN))?;
        loop {
            let (_, rows) = self
                .until(|event| {
                    if let Event::Groups { rows, .. } = event {
                        Some(rows)
                    } else {
                        None
                    }
                })
                .await?;
            if !rows.into_iter().all(&mut each) {
                break;
            }
        }
        self.client.send(&Command::Pause(RUN))?;
        self.until(|event| stands(&event).then_some(())).await?;
        Ok(())
    }

    /// All conventions at this point.
    pub(crate) async fn probe(&self, full_batch: FullBatch) -> Result<ProbeReport, Fault> {
        self.client.send(&Command::Probe { run: RUN, full_batch })?;
        let probed = |event| {
            if let Event::Probed { report, .. } = event {
                Some(report)
            } else {
                None
            }
        };
        self.until(probed).await?.1
    }

    /// The first event that `wanted` takes, or the first fault.
    async fn until<T>(&self, wanted: impl Fn(Event) -> Option<T>) -> Result<(f64, T), Fault> {
        loop {
            let (heard_ms, event) = self.inbox.next().await;
            if let Event::Fault { fault, .. } = event {
                return Err(fault);
            }
            if let Some(found) = wanted(event) {
                return Ok((heard_ms, found));
            }
        }
    }
}

fn last_row(event: Event) -> Option<GroupRow> {
    if let Event::Groups { mut rows, .. } = event {
        rows.pop()
    } else {
        None
    }
}

fn stands(event: &Event) -> bool {
    matches!(
        event,
        Event::State {
            state: RunState::Paused | RunState::Finished,
            ..
        }
    )
}

/// Milliseconds since navigation.
pub(crate) fn now_ms() -> f64 {
    web_sys::window()
        .and_then(|window| window.performance())
        .map_or_else(js_sys::Date::now, |clock| clock.now())
}
