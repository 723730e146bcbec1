//! What the buttons do, and which events of a run are taken.

use microbatch_lab::{
    lab::{DeviceState, Msg, Transport, msg::Go},
    protocol::{DeviceKind, Event, Fault, RunId, RunState, StepBy},
};

use super::{
    MapToStrings, RUN, after, chosen, continued, fault_of, loaded, path_to, says,
    told::{checked, group, opened, plan, ready},
};

#[test]
fn what_the_buttons_do_in_every_state() {
    use Transport::{Empty, Failed, Finished, Loading, Paused, Pausing, Running};
    let step = Msg::Go(Go::Step(StepBy::Update));
    let cases: &[(Transport, Msg, Transport, &[&str])] = &[
        (Empty, RUN, Loading, &["load 1"]),
        (Empty, step.clone(), Loading, &["load 1"]),
        (Empty, Msg::Pause, Empty, &[]),
        (Empty, Msg::Reset, Loading, &["load 1"]),
        (Empty, Msg::Pace(200), Empty, &[]),
        (Loading, RUN, Loading, &[]),
        (Loading, Msg::Pause, Loading, &[]),
        (Loading, Msg::Reset, Loading, &["load 2"]),
        (Loading, Msg::Pace(200), Loading, &[]),
        (Paused, RUN, Running, &["run 1"]),
        (Paused, step.clone(), Running, &["step 1 Update"]),
        (
            Paused,
            Msg::Go(Go::Step(StepBy::Microbatch)),
            Running,
            &["step 1 Microbatch"],
        ),
        (Paused, Msg::Pause, Paused, &[]),
        (Paused, Msg::Reset, Loading, &["load 2"]),
        (Paused, Msg::Pace(200), Paused, &["pace 1 200"]),
        (Running, RUN, Running, &[]),
        (Running, step.clone(), Running, &[]),
        (Running, Msg::Pause, Pausing, &["pause 1"]),
        (Running, Msg::Reset, Loading, &["load 2"]),
        (Running, Msg::Pace(0), Running, &["pace 1 0"]),
        (Pausing, RUN, Running, &["run 1"]),
        (Pausing, Msg::Pause, Pausing, &[]),
        (Pausing, says(1, RunState::Running), Pausing, &[]),
        (Pausing, says(1, RunState::Paused), Paused, &[]),
        (Finished, RUN, Loading, &["load 2"]),
        (Finished, step, Loading, &["load 2"]),
        (Finished, Msg::Pause, Finished, &[]),
        (Finished, Msg::Pace(9), Finished, &[]),
        (Failed, RUN, Loading, &["load 2"]),
        (Failed, Msg::Pause, Failed, &[]),
        (Failed, Msg::Pace(9), Failed, &[]),
    ];
    for (from, msg, to, asked) in cases {
        let start = after(path_to(*from)).lab;
        assert_eq!(start.machine.transport, *from);
        let did = continued(start, [msg.clone()]);
        assert_eq!(
            (did.lab.machine.transport, did.asked.as_slice()),
            (*to, asked.map_to_strings().as_slice()),
            "{from:?} {msg:?}"
        );
    }
}

#[test]
fn the_device_opens_is_checked_and_then_gets_the_run_that_waits() {
    let did = after([RUN, chosen(DeviceKind::Cpu), ready(), opened(), checked(0.0), loaded(1)]);
    assert_eq!(did.asked, ["open", "load 1", "pace 1 0", "run 1"]);
    assert!(matches!(did.lab.machine.device, DeviceState::Usable(..)));
    assert!(
        did.lab
            .recording
            .is_some_and(|recording| recording.facts.is_some() && recording.device.is_some())
    );
}

#[test]
fn run_pressed_while_loading_runs_once_loaded_and_pause_takes_it_back() {
    let mut path = path_to(Transport::Loading);
    path.extend([Msg::Go(Go::Step(StepBy::Microbatch)), loaded(1)]);
    assert_eq!(after(path).asked.last().map(String::as_str), Some("step 1 Microbatch"));

    let mut path = path_to(Transport::Loading);
    path.extend([Msg::Pause, loaded(1)]);
    let did = after(path);
    assert_eq!(did.asked.last().map(String::as_str), Some("pace 1 0"));
    assert_eq!(did.lab.machine.transport, Transport::Paused);
}

#[test]
fn events_of_older_and_newer_runs_are_dropped() {
    let start = after(path_to(Transport::Running)).lab;
    for run in [0, 2, 7] {
        let late = [
            loaded(run),
            says(run, RunState::Finished),
            Msg::Worker(Event::Group {
                run: RunId(run),
                plan: plan(0),
            }),
            Msg::Worker(Event::Microbatches {
                run: RunId(run),
                rows: vec![],
            }),
            Msg::Worker(Event::Groups {
                run: RunId(run),
                rows: vec![group(0)],
            }),
            fault_of(Some(run), Fault::NoSuchRun),
        ];
        let did = continued(start.clone(), late);
        assert_eq!(did.asked, Vec::<String>::new());
        assert_eq!(did.lab.machine.transport, Transport::Running);
        assert_eq!(did.lab.machine.fault, None);
        let recording = did.lab.recording.expect("a recording");
        assert!(recording.groups.is_empty() && recording.current.is_none());
    }
}
