//! The one function that changes the page's state.

use super::{
    Lab,
    machine::{DeviceState, Transport},
    msg::{Effect, Go, Msg, OwnFile},
    recording::Recording,
};
use crate::{
    data::DataError,
    protocol::{ChoiceReason, Chosen, Command, DeviceChoice, DeviceKind, Event, Fault, RunId, RunState, VERSION},
    setup::{Data, Draft, Setup, parse::parse},
};

/// Applies one message; returns what the outside has to do.
pub fn update(lab: &mut Lab, msg: Msg) -> Vec<Effect> {
    match msg {
        Msg::Edit(key, text) => {
            let draft = lab.blueprint.draft.clone().with(key, text);
            replace(lab, draft)
        }
        Msg::Replace(draft) => replace(lab, draft),
        Msg::OwnFile(result) => own_file(lab, result),
        Msg::Go(go) => start(lab, go),
        Msg::Pause => pause(lab),
        Msg::Reset => load(lab, None),
        Msg::Pace(pause_ms) => {
            lab.blueprint.pause_ms = pause_ms;
            if lab.recording.is_some() {
                vec![pace(lab)]
            } else {
                Vec::new()
            }
        }
        Msg::Device(choice) => {
            lab.blueprint.device = choice;
            lab.machine.fault = None;
            let mut effects = respawn(lab, choice);
            effects.push(Effect::Remember);
            effects
        }
        Msg::Chosen(chosen) => {
            choose(lab, chosen);
            Vec::new()
        }
        Msg::BadLink(error) => {
            lab.bad_link = Some(error);
            Vec::new()
        }
        Msg::DismissLink => {
            lab.bad_link = None;
            Vec::new()
        }
        Msg::Axis(unit) => {
            lab.blueprint.axis = unit;
            Vec::new()
        }
        Msg::ToggleLane(lane) => {
            toggle(&mut lab.blueprint.hidden_lanes, lane);
            Vec::new()
        }
        Msg::Language(language) => {
            lab.blueprint.language = language;
            vec![Effect::Remember]
        }
        Msg::Theme(theme) => {
            lab.blueprint.theme = theme;
            vec![Effect::Remember]
        }
        Msg::Worker(event) => worker(lab, event),
        Msg::WorkerDied(fault) => died(lab, fault),
        Msg::DismissFault => {
            lab.machine.fault = None;
            Vec::new()
        }
    }
}

fn toggle(hidden: &mut Vec<usize>, lane: usize) {
    match hidden.iter().position(|&other| other == lane) {
        Some(at) => drop(hidden.remove(at)),
        None => hidden.push(lane),
    }
}

fn replace(lab: &mut Lab, draft: Draft) -> Vec<Effect> {
    lab.errors = parse(&draft).err().unwrap_or_default();
    lab.blueprint.draft = draft.clone();
    vec![Effect::WriteLink(draft)]
}

fn own_file(lab: &mut Lab, result: Result<OwnFile, DataError>) -> Vec<Effect> {
    match result {
        Ok(file) => {
            let draft = lab
                .blueprint
                .draft
                .clone()
                .with(crate::setup::Key::FileName, file.name.clone());
            lab.blueprint.own = Some(file);
            lab.machine.fault = None;
            replace(lab, draft)
        }
        Err(error) => {
            lab.machine.fault = Some(Fault::Data(error));
            Vec::new()
        }
    }
}

/// Run and Step continue what is loaded; once it is over, or where nothing is loaded, they load the draft first.
fn start(lab: &mut Lab, go: Go) -> Vec<Effect> {
    match lab.machine.transport {
        Transport::Paused | Transport::Pausing => go_on(lab, go),
        Transport::Empty | Transport::Finished | Transport::Failed => load(lab, Some(go)),
        Transport::Loading => {
            lab.machine.after_load = Some(go);
            Vec::new()
        }
        Transport::Running => Vec::new(),
    }
}

fn go_on(lab: &mut Lab, go: Go) -> Vec<Effect> {
    lab.machine.transport = Transport::Running;
    vec![Effect::Send(command(lab.machine.run, go))]
}

fn command(run: RunId, go: Go) -> Command {
    match go {
        Go::Run => Command::Run(run),
        Go::Step(by) => Command::Step(run, by),
    }
}

fn pause(lab: &mut Lab) -> Vec<Effect> {
    lab.machine.after_load = None;
    if lab.machine.transport != Transport::Running {
        return Vec::new();
    }
    lab.machine.transport = Transport::Pausing;
    vec![Effect::Send(Command::Pause(lab.machine.run))]
}

/// Sends the draft to the worker. A draft that does not parse changes nothing: the running run and its recording stay.
fn load(lab: &mut Lab, then: Option<Go>) -> Vec<Effect> {
    let setup = match parse(&lab.blueprint.draft) {
        Ok(setup) => setup,
        Err(errors) => {
            lab.errors = errors;
            return Vec::new();
        }
    };
    let own_text = match own_text(lab, &setup) {
        Ok(text) => text,
        Err(error) => {
            lab.machine.fault = Some(Fault::Data(error));
            return Vec::new();
        }
    };
    if let DeviceState::Failed(fault) = &lab.machine.device {
        lab.machine.fault = Some(fault.clone());
        return Vec::new();
    }
    lab.errors.clear();
    lab.machine.run = RunId(lab.machine.run.0 + 1);
    let run = lab.machine.run;
    lab.machine.transport = Transport::Loading;
    lab.machine.after_load = then;
    lab.machine.facts = None;
    lab.machine.fault = None;
    lab.blueprint.hidden_lanes.retain(|&lane| lane < setup.lanes.len());
    lab.recording = Some(Recording::new(run, lab.blueprint.draft.clone(), setup.clone()));
    if !matches!(lab.machine.device, DeviceState::Usable(..)) {
        // Sent as soon as the device is usable.
        return Vec::new();
    }
    send_load(run, setup, own_text)
}

fn send_load(run: RunId, setup: Setup, own_text: Option<String>) -> Vec<Effect> {
    vec![Effect::Send(Command::Load {
        run,
        setup: Box::new(setup),
        own_text,
    })]
}

fn own_text(lab: &Lab, setup: &Setup) -> Result<Option<String>, DataError> {
    match &setup.data {
        Data::Task { .. } => Ok(None),
        Data::Own { name, .. } => {
            let file = lab.blueprint.own.as_ref();
            file.map(|file| Some(file.text.clone()))
                .ok_or_else(|| DataError::FileNeeded { name: name.clone() })
        }
    }
}

fn pace(lab: &Lab) -> Effect {
    Effect::Send(Command::Pace {
        run: lab.machine.run,
        pause_ms: lab.blueprint.pause_ms,
    })
}

fn respawn(lab: &mut Lab, device: DeviceChoice) -> Vec<Effect> {
    // A run that still waits for its device was never sent, so the next worker can have it.
    let unsent = lab.machine.transport == Transport::Loading && !matches!(lab.machine.device, DeviceState::Usable(..));
    lab.machine.ready = false;
    lab.machine.chosen = None;
    lab.machine.device = DeviceState::Starting;
    lab.machine.preparing = None;
    if !unsent {
        lab.machine.after_load = None;
        stop(lab);
    }
    vec![Effect::Respawn(device)]
}

/// What was recorded stays; the run itself lived in a worker that is gone.
fn stop(lab: &mut Lab) {
    if matches!(
        lab.machine.transport,
        Transport::Loading | Transport::Running | Transport::Paused | Transport::Pausing
    ) {
        lab.machine.transport = Transport::Failed;
    }
}

/// Keeps the reason why WebGPU was given up: the CPU device that follows was not asked for by the person.
fn choose(lab: &mut Lab, chosen: Chosen) {
    let fell_back = lab
        .machine
        .chosen
        .as_ref()
        .is_some_and(|known| known.device == chosen.device && matches!(known.reason, ChoiceReason::GpuFailed(_)));
    if !fell_back {
        lab.machine.chosen = Some(chosen);
    }
}

/// A worker that worked is started again. One that never came so far would only die again: the person is told, except under
/// [`DeviceChoice::Auto`], where the CPU device takes over from WebGPU.
fn died(lab: &mut Lab, fault: Fault) -> Vec<Effect> {
    if matches!(lab.machine.device, DeviceState::Usable(..)) {
        let effects = respawn(lab, lab.blueprint.device);
        lab.machine.fault = Some(fault);
        return effects;
    }
    unusable(lab, fault)
}

fn unusable(lab: &mut Lab, fault: Fault) -> Vec<Effect> {
    let on_gpu = lab
        .machine
        .chosen
        .as_ref()
        .is_some_and(|chosen| chosen.device == DeviceKind::WebGpu);
    if lab.blueprint.device == DeviceChoice::Auto && on_gpu {
        let effects = respawn(lab, DeviceChoice::Cpu);
        lab.machine.chosen = Some(Chosen {
            device: DeviceKind::Cpu,
            reason: ChoiceReason::GpuFailed(fault),
        });
        return effects;
    }
    lab.machine.preparing = None;
    lab.machine.after_load = None;
    lab.machine.device = DeviceState::Failed(fault.clone());
    lab.machine.fault = Some(fault);
    stop(lab);
    Vec::new()
}

fn worker(lab: &mut Lab, event: Event) -> Vec<Effect> {
    match event {
        Event::Ready { version } if version != VERSION => unusable(
            lab,
            Fault::VersionMismatch {
                page: VERSION,
                worker: version,
            },
        ),
        Event::Ready { .. } => {
            lab.machine.ready = true;
            vec![Effect::Send(Command::Open)]
        }
        Event::Preparing(preparation) => {
            lab.machine.preparing = Some(preparation);
            Vec::new()
        }
        Event::Opened(report) => {
            lab.machine.device = DeviceState::Opened(report);
            Vec::new()
        }
        Event::Checked(check) => checked(lab, check),
        Event::Fault { run, fault } => faulted(lab, run, fault),
        Event::Loaded { run, .. }
        | Event::Group { run, .. }
        | Event::Microbatches { run, .. }
        | Event::Groups { run, .. }
        | Event::State { run, .. }
            if run != lab.machine.run =>
        {
            Vec::new()
        }
        event => run_event(lab, event),
    }
}

/// The device is usable now; a run that waited for it is sent.
fn checked(lab: &mut Lab, check: crate::protocol::SelfCheck) -> Vec<Effect> {
    lab.machine.preparing = None;
    if !check.passed() {
        return Vec::new();
    }
    if let DeviceState::Opened(report) = &lab.machine.device {
        lab.machine.device = DeviceState::Usable(report.clone(), check);
    }
    let waiting = lab.machine.transport == Transport::Loading;
    let setup = lab
        .recording
        .as_ref()
        .filter(|_| waiting)
        .map(|recording| recording.setup.clone());
    let Some(setup) = setup else { return Vec::new() };
    match own_text(lab, &setup) {
        Ok(text) => send_load(lab.machine.run, setup, text),
        Err(error) => {
            lab.machine.fault = Some(Fault::Data(error));
            lab.machine.transport = Transport::Failed;
            Vec::new()
        }
    }
}

fn faulted(lab: &mut Lab, run: Option<RunId>, fault: Fault) -> Vec<Effect> {
    match (run, &fault) {
        (Some(run), _) if run != lab.machine.run => return Vec::new(),
        (Some(_), _) => lab.machine.transport = Transport::Failed,
        (None, Fault::NoWebGpu { .. } | Fault::DeviceComputesWrongly { .. }) => return unusable(lab, fault),
        (None, Fault::DeviceLost { .. }) => return died(lab, fault),
        (None, _) => {}
    }
    lab.machine.preparing = None;
    lab.machine.fault = Some(fault);
    Vec::new()
}

fn run_event(lab: &mut Lab, event: Event) -> Vec<Effect> {
    let Some(recording) = lab.recording.as_mut() else {
        return Vec::new();
    };
    match event {
        Event::Loaded { facts, .. } => {
            recording.facts = Some(facts.clone());
            if let DeviceState::Usable(report, _) = &lab.machine.device {
                recording.device = Some(report.clone());
            }
            lab.machine.facts = Some(facts);
            lab.machine.preparing = None;
            lab.machine.transport = Transport::Paused;
            let mut effects = vec![pace(lab)];
            if let Some(go) = lab.machine.after_load.take() {
                effects.extend(go_on(lab, go));
            }
            effects
        }
        Event::Group { plan, .. } => {
            recording.begin(plan);
            Vec::new()
        }
        Event::Microbatches { rows, .. } => {
            for row in rows {
                recording.watch(row);
            }
            Vec::new()
        }
        Event::Groups { rows, .. } => {
            for row in rows {
                recording.end(row);
            }
            Vec::new()
        }
        Event::State { state, .. } => {
            lab.machine.transport = match state {
                RunState::Running => Transport::Running,
                RunState::Paused => Transport::Paused,
                RunState::Finished => Transport::Finished,
            };
            Vec::new()
        }
        Event::Ready { .. } | Event::Preparing(_) | Event::Opened(_) | Event::Checked(_) | Event::Fault { .. } => {
            Vec::new()
        }
    }
}
