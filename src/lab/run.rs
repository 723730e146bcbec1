//! Loading, going, pausing: what the person asks of a run.

use super::{
    Lab,
    machine::{DeviceState, Transport},
    msg::{Effect, Go, OwnFile},
    recording::Recording,
    tools::Answer,
};
use crate::{
    data::{self, DataError},
    protocol::{Command, Fault, RunId},
    setup::{Data, Setup, parse::parse},
};

/// Run and Step continue what is loaded; once it is over, or where nothing is loaded, they load the draft first.
pub(super) fn start(lab: &mut Lab, go: Go) -> Vec<Effect> {
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

pub(super) fn go_on(lab: &mut Lab, go: Go) -> Vec<Effect> {
    lab.machine.transport = Transport::Running;
    let run = lab.machine.run;
    vec![Effect::Send(match go {
        Go::Run => Command::Run(run),
        Go::Step(by) => Command::Step(run, by),
    })]
}

pub(super) fn pause(lab: &mut Lab) -> Vec<Effect> {
    lab.machine.after_load = None;
    if lab.machine.transport != Transport::Running {
        return Vec::new();
    }
    lab.machine.transport = Transport::Pausing;
    vec![Effect::Send(Command::Pause(lab.machine.run))]
}

/// The pace is kept for later runs; one that is loaded hears of it now.
pub(super) fn set_pace(lab: &mut Lab, pause_ms: u32) -> Vec<Effect> {
    lab.blueprint.pause_ms = pause_ms;
    match lab.machine.transport {
        Transport::Paused | Transport::Running | Transport::Pausing => vec![pace(lab)],
        Transport::Empty | Transport::Loading | Transport::Finished | Transport::Failed => Vec::new(),
    }
}

pub(super) fn pace(lab: &Lab) -> Effect {
    Effect::Send(Command::Pace {
        run: lab.machine.run,
        pause_ms: lab.blueprint.pause_ms,
    })
}

/// Sends the draft to the worker. A draft that cannot run changes nothing: the running run and its recording stay.
pub(super) fn load(lab: &mut Lab, then: Option<Go>) -> Vec<Effect> {
    let setup = match parse(&lab.blueprint.draft) {
        Ok(setup) => setup,
        Err(errors) => {
            lab.errors = errors;
            return Vec::new();
        }
    };
    let own_text = match own_text(lab.blueprint.own.as_ref(), &setup) {
        Ok(text) => text,
        Err(error) => {
            lab.machine.fault = Some(Fault::Data(error));
            return Vec::new();
        }
    };
    // The worker makes the data again; here it is made so that what cannot be used is refused before anything is given up for it.
    if let Err(error) = data::build(&setup, own_text.as_deref()) {
        lab.machine.fault = Some(Fault::Data(error));
        return Vec::new();
    }
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
    // It was about the run that is replaced, whose answers are no longer heard.
    lab.tools.probe = Answer::None;
    // What the person starts gets its chances anew.
    lab.machine.deaths = 0;
    lab.blueprint.hidden_lanes.retain(|&lane| lane < setup.lanes.len());
    let recording = Recording::new(run, lab.blueprint.draft.clone(), setup.clone());
    lab.past.keep(lab.recording.replace(recording));
    if matches!(lab.machine.device, DeviceState::Usable(..)) {
        send(run, setup, own_text)
    } else {
        // Sent as soon as the device is usable.
        Vec::new()
    }
}

/// The device is usable now; a run that waited for it is sent.
pub(super) fn send_waiting(lab: &mut Lab) -> Vec<Effect> {
    let waiting = lab.machine.transport == Transport::Loading;
    let setup = lab
        .recording
        .as_ref()
        .filter(|_| waiting)
        .map(|recording| recording.setup.clone());
    let Some(setup) = setup else { return Vec::new() };
    match own_text(lab.blueprint.own.as_ref(), &setup) {
        Ok(text) => send(lab.machine.run, setup, text),
        Err(error) => {
            lab.machine.fault = Some(Fault::Data(error));
            lab.machine.transport = Transport::Failed;
            Vec::new()
        }
    }
}

fn send(run: RunId, setup: Setup, own_text: Option<String>) -> Vec<Effect> {
    vec![Effect::Send(Command::Load {
        run,
        setup: Box::new(setup),
        own_text,
    })]
}

/// The text of the file that the setup names; another file than the named one is none.
pub(super) fn own_text(own: Option<&OwnFile>, setup: &Setup) -> Result<Option<String>, DataError> {
    match &setup.data {
        Data::Task { .. } => Ok(None),
        Data::Own { name, .. } => own
            .filter(|file| file.is_named(name))
            .map(|file| Some(file.text.to_string()))
            .ok_or_else(|| DataError::FileNeeded { name: name.clone() }),
    }
}
