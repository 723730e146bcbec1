//! What the worker says, and what becomes of the page when it dies.

use super::{
    Lab,
    machine::{DeviceState, Transport},
    msg::Effect,
    run,
    tools::Answer,
};
use crate::protocol::{
    ChoiceReason, Chosen, Command, DeviceChoice, DeviceKind, Event, Fault, RunState, SelfCheck, VERSION,
};

/// A worker that dies this often without a run being loaded is not started again by itself.
const LAST_DEATH: u8 = 2;

pub(super) fn heard(lab: &mut Lab, event: Event) -> Vec<Effect> {
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
        Event::Preflighted(report) => {
            lab.tools.preflight = Answer::take(report);
            Vec::new()
        }
        Event::FitTried(tried) => {
            lab.tools.fit_tries.push(tried);
            Vec::new()
        }
        Event::Fitted(report) => {
            lab.tools.fit = Answer::take(report);
            Vec::new()
        }
        Event::Loaded { run, .. }
        | Event::Group { run, .. }
        | Event::Microbatches { run, .. }
        | Event::Groups { run, .. }
        | Event::State { run, .. }
        | Event::Probed { run, .. }
            if run != lab.machine.run =>
        {
            Vec::new()
        }
        event => of_run(lab, event),
    }
}

fn of_run(lab: &mut Lab, event: Event) -> Vec<Effect> {
    let Some(recording) = lab.recording.as_mut() else {
        return Vec::new();
    };
    match event {
        Event::Loaded { facts, .. } => {
            if let DeviceState::Usable(report, _) = &lab.machine.device {
                recording.device = Some(report.clone());
            }
            recording.facts = Some(facts.clone());
            lab.machine.facts = Some(facts);
            lab.machine.preparing = None;
            lab.machine.deaths = 0;
            lab.machine.transport = Transport::Paused;
            let mut effects = vec![run::pace(lab)];
            if let Some(go) = lab.machine.after_load.take() {
                effects.extend(run::go_on(lab, go));
            }
            return effects;
        }
        Event::Group { plan, .. } => recording.begin(plan),
        Event::Microbatches { rows, .. } => rows.into_iter().for_each(|row| recording.watch(row)),
        Event::Groups { rows, .. } => rows.into_iter().for_each(|row| recording.end(row)),
        Event::State { state, .. } => {
            lab.machine.transport = match (state, lab.machine.transport) {
                // Said before the worker heard of the pause.
                (RunState::Running, Transport::Pausing) => Transport::Pausing,
                (RunState::Running, _) => Transport::Running,
                (RunState::Paused, _) => Transport::Paused,
                (RunState::Finished, _) => Transport::Finished,
            };
        }
        Event::Probed { report, .. } => lab.tools.probe = Answer::take(report),
        Event::Ready { .. }
        | Event::Preparing(_)
        | Event::Opened(_)
        | Event::Checked(_)
        | Event::Preflighted(_)
        | Event::FitTried(_)
        | Event::Fitted(_)
        | Event::Fault { .. } => {}
    }
    Vec::new()
}

/// A failed check is followed by a fault that says so.
fn checked(lab: &mut Lab, check: SelfCheck) -> Vec<Effect> {
    lab.machine.preparing = None;
    let DeviceState::Opened(report) = &lab.machine.device else {
        return Vec::new();
    };
    if !check.passed() {
        return Vec::new();
    }
    lab.machine.device = DeviceState::Usable(report.clone(), check);
    run::send_waiting(lab)
}

fn faulted(lab: &mut Lab, run: Option<crate::protocol::RunId>, fault: Fault) -> Vec<Effect> {
    match (run, &fault) {
        (Some(run), _) if run != lab.machine.run => return Vec::new(),
        (Some(_), fault) => {
            lab.tools.run_failed(fault);
            lab.machine.transport = Transport::Failed;
            lab.machine.after_load = None;
        }
        (None, Fault::NoWebGpu { .. } | Fault::DeviceComputesWrongly { .. }) => return unusable(lab, fault),
        (None, Fault::DeviceLost { .. } | Fault::Panicked { .. } | Fault::Unreachable { .. }) => {
            return died(lab, fault);
        }
        (None, _) => {}
    }
    lab.machine.preparing = None;
    lab.machine.fault = Some(fault);
    Vec::new()
}

/// Keeps the reason why WebGPU was given up: the CPU device that follows was not asked for by the person.
pub(super) fn choose(lab: &mut Lab, chosen: Chosen) {
    let known = lab.machine.chosen.as_ref();
    let fell_back =
        known.is_some_and(|known| known.device == chosen.device && matches!(known.reason, ChoiceReason::GpuFailed(_)));
    if !fell_back {
        lab.machine.chosen = Some(chosen);
    }
}

/// Ends the worker and starts another.
pub(super) fn respawn(lab: &mut Lab, device: DeviceChoice) -> Vec<Effect> {
    // A run that still waits for its device was never sent, so the next worker can have it.
    let unsent = lab.machine.transport == Transport::Loading && !matches!(lab.machine.device, DeviceState::Usable(..));
    lab.machine.ready = false;
    lab.machine.chosen = None;
    lab.machine.device = DeviceState::Starting;
    lab.machine.preparing = None;
    lab.machine.facts = None;
    lab.tools.worker_gone(None);
    if !unsent {
        stop(lab);
    }
    vec![Effect::Respawn(device)]
}

/// What was recorded stays; the run itself lived in a worker that is gone.
fn stop(lab: &mut Lab) {
    lab.machine.after_load = None;
    if matches!(
        lab.machine.transport,
        Transport::Loading | Transport::Running | Transport::Paused | Transport::Pausing
    ) {
        lab.machine.transport = Transport::Failed;
    }
}

/// A worker that dies is started again, but not for ever: see [`LAST_DEATH`].
pub(super) fn died(lab: &mut Lab, fault: Fault) -> Vec<Effect> {
    lab.tools.worker_gone(Some(&fault));
    lab.machine.deaths += 1;
    if lab.machine.deaths >= LAST_DEATH {
        return unusable(lab, fault);
    }
    // A fallback stays one: what was given up is not tried again behind the person's back.
    let before = lab
        .machine
        .chosen
        .clone()
        .filter(|chosen| matches!(chosen.reason, ChoiceReason::GpuFailed(_)));
    let device = if before.is_some() {
        DeviceChoice::Cpu
    } else {
        lab.blueprint.device
    };
    let effects = respawn(lab, device);
    lab.machine.chosen = before;
    lab.machine.fault = Some(fault);
    effects
}

/// This worker will never be of use. Under [`DeviceChoice::Auto`] the CPU device takes over from WebGPU; else the person is told.
fn unusable(lab: &mut Lab, fault: Fault) -> Vec<Effect> {
    lab.machine.deaths = 0;
    let chosen = lab.machine.chosen.as_ref();
    let on_gpu = chosen.is_some_and(|chosen| chosen.device == DeviceKind::WebGpu);
    if lab.blueprint.device == DeviceChoice::Auto && on_gpu {
        let effects = respawn(lab, DeviceChoice::Cpu);
        lab.machine.chosen = Some(Chosen {
            device: DeviceKind::Cpu,
            reason: ChoiceReason::GpuFailed(fault),
        });
        // The line about the device says why; a second message about the same is one too many.
        lab.machine.fault = None;
        return effects;
    }
    lab.tools.worker_gone(Some(&fault));
    lab.machine.preparing = None;
    lab.machine.device = DeviceState::Failed(fault.clone());
    lab.machine.fault = Some(fault);
    stop(lab);
    Vec::new()
}
