//! The page's state: what each message does to it, and what it asks of the outside.
#![cfg(not(target_arch = "wasm32"))]

mod beside;
mod deaths;
mod drafts;
mod record;
mod told;
mod tools;
mod transport;

use microbatch_lab::{
    lab::{Effect, Lab, Msg, Transport, msg::Go, update},
    protocol::{ChoiceReason, Chosen, Command, DeviceKind, Event, Fault, RunId, RunState},
};
use told::{checked, facts, opened, ready};

const RUN: Msg = Msg::Go(Go::Run);

fn died() -> Msg {
    Msg::WorkerDied(Fault::Panicked {
        message: "boom".to_owned(),
    })
}

fn chosen(device: DeviceKind) -> Msg {
    Msg::Chosen(Chosen {
        device,
        reason: ChoiceReason::Hardware { adapter: String::new() },
    })
}

/// What a list of messages did: the state after it, and each message's effects in words.
struct After {
    lab: Lab,
    asked: Vec<String>,
}

fn after(messages: impl IntoIterator<Item = Msg>) -> After {
    continued(Lab::default(), messages)
}

fn continued(mut lab: Lab, messages: impl IntoIterator<Item = Msg>) -> After {
    let effects = messages
        .into_iter()
        .flat_map(|msg| update(&mut lab, msg))
        .collect::<Vec<_>>();
    let asked = effects.iter().map(in_words).collect();
    After { lab, asked }
}

fn in_words(effect: &Effect) -> String {
    match effect {
        Effect::Send(Command::Open) => "open".to_owned(),
        Effect::Send(Command::Load { run, .. }) => format!("load {}", run.0),
        Effect::Send(Command::LoadFixture { run, .. }) => format!("load fixture {}", run.0),
        Effect::Send(Command::Run(run)) => format!("run {}", run.0),
        Effect::Send(Command::Pause(run)) => format!("pause {}", run.0),
        Effect::Send(Command::Step(run, by)) => format!("step {} {by:?}", run.0),
        Effect::Send(Command::Pace { run, pause_ms }) => format!("pace {} {pause_ms}", run.0),
        Effect::Send(Command::Probe { run, .. }) => format!("probe {}", run.0),
        Effect::Send(Command::Preflight { .. }) => "preflight".to_owned(),
        Effect::Send(Command::Fit { limit, .. }) => format!("fit {limit}"),
        Effect::Send(Command::Stop) => "stop".to_owned(),
        Effect::Respawn(choice) => format!("respawn {choice:?}"),
        Effect::WriteLink(_) => "link".to_owned(),
        Effect::Remember => "remember".to_owned(),
    }
}

/// A worker that came up on the CPU device.
fn usable() -> Vec<Msg> {
    vec![chosen(DeviceKind::Cpu), ready(), opened(), checked(0.0)]
}

fn loaded(run: u32) -> Msg {
    Msg::Worker(Event::Loaded {
        run: RunId(run),
        facts: facts(),
    })
}

fn says(run: u32, state: RunState) -> Msg {
    Msg::Worker(Event::State { run: RunId(run), state })
}

/// The messages that lead to each state of the transport, on run 1.
fn path_to(transport: Transport) -> Vec<Msg> {
    let mut path = usable();
    let more = match transport {
        Transport::Empty => vec![],
        Transport::Loading => vec![RUN],
        Transport::Paused => vec![Msg::Reset, loaded(1)],
        Transport::Running => vec![RUN, loaded(1), says(1, RunState::Running)],
        Transport::Pausing => vec![RUN, loaded(1), says(1, RunState::Running), Msg::Pause],
        Transport::Finished => vec![RUN, loaded(1), says(1, RunState::Finished)],
        Transport::Failed => vec![RUN, loaded(1), fault_of(Some(1), Fault::NoSuchRun)],
    };
    path.extend(more);
    path
}

fn fault_of(run: Option<u32>, fault: Fault) -> Msg {
    Msg::Worker(Event::Fault {
        run: run.map(RunId),
        fault,
    })
}

trait MapToStrings {
    fn map_to_strings(&self) -> Vec<String>;
}

impl MapToStrings for &[&str] {
    fn map_to_strings(&self) -> Vec<String> {
        self.iter().map(|text| (*text).to_owned()).collect()
    }
}
