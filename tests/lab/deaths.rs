//! Workers that die, devices that are refused, and what takes over.

use microbatch_lab::{
    lab::{DeviceState, Msg, Transport},
    protocol::{ChoiceReason, Chosen, DeviceChoice, DeviceKind, Event, Fault, RunId},
};

use super::{
    RUN, after, chosen, continued, died, fault_of, loaded, path_to,
    told::{checked, group, opened, ready},
    usable,
};

#[test]
fn a_worker_that_dies_is_named_and_started_again_and_nothing_seen_is_lost() {
    let mut path = path_to(Transport::Running);
    path.push(Msg::Worker(Event::Groups {
        run: RunId(1),
        rows: vec![group(0), group(1)],
    }));
    let start = after(path).lab;
    let did = continued(start, [died()]);
    assert_eq!(did.asked, ["respawn Auto"]);
    assert_eq!(did.lab.machine.transport, Transport::Failed);
    assert_eq!(
        did.lab.machine.fault,
        Some(Fault::Panicked {
            message: "boom".to_owned()
        })
    );
    assert_eq!(
        did.lab.recording.as_ref().map(|recording| recording.groups.len()),
        Some(2)
    );
    // The next worker takes a new run; the number goes on, so that nothing of the old one is taken for it.
    let did = continued(did.lab, usable().into_iter().chain([RUN, loaded(2)]));
    assert_eq!(did.asked, ["open", "load 2", "pace 2 0", "run 2"]);
    assert_eq!(did.lab.machine.fault, None);
}

#[test]
fn a_lost_device_and_unreadable_commands_are_deaths_too() {
    for fault in [
        Fault::DeviceLost {
            reason: "gone".to_owned(),
        },
        Fault::Unreachable {
            message: "bytes".to_owned(),
        },
        Fault::Panicked {
            message: "boom".to_owned(),
        },
    ] {
        let did = continued(after(path_to(Transport::Running)).lab, [fault_of(None, fault.clone())]);
        assert_eq!(
            (did.asked.as_slice(), did.lab.machine.fault),
            (["respawn Auto".to_owned()].as_slice(), Some(fault))
        );
    }
}

#[test]
fn a_worker_that_keeps_dying_is_given_up() {
    let did = after([chosen(DeviceKind::Cpu), died(), chosen(DeviceKind::Cpu), died()]);
    assert_eq!(did.asked, ["respawn Auto"], "once, not for ever");
    assert!(matches!(
        did.lab.machine.device,
        DeviceState::Failed(Fault::Panicked { .. })
    ));
    assert!(did.lab.machine.fault.is_some());
    // It is also given up when it comes up and dies without having done anything.
    let mut path = usable();
    path.push(died());
    path.extend(usable());
    path.push(died());
    assert!(matches!(after(path).lab.machine.device, DeviceState::Failed(_)));
    // A run that was loaded in between shows that it works.
    let mut path = path_to(Transport::Running);
    path.push(died());
    path.extend(usable());
    path.extend([RUN, loaded(2), died()]);
    assert_eq!(after(path).asked.last().map(String::as_str), Some("respawn Auto"));
}

#[test]
fn a_run_that_waits_for_its_device_survives_one_death() {
    let did = after([RUN, chosen(DeviceKind::Cpu), ready(), died()]);
    assert_eq!(did.lab.machine.transport, Transport::Loading);
    let did = continued(did.lab, usable());
    assert_eq!(did.asked, ["open", "load 1"]);
    let did = after([RUN, died(), died()]);
    assert_eq!(did.lab.machine.transport, Transport::Failed);
}

#[test]
fn the_cpu_device_takes_over_from_a_gpu_that_was_not_asked_for() {
    let wrong = || {
        fault_of(
            None,
            Fault::DeviceComputesWrongly {
                gradient_error: 1.0,
                loss_error: 0.0,
                tolerance: 1e-4,
            },
        )
    };
    let none = || {
        fault_of(
            None,
            Fault::NoWebGpu {
                reason: "blocked".to_owned(),
            },
        )
    };
    let ways: [Vec<Msg>; 4] = [
        vec![wrong()],
        vec![none()],
        vec![died(), chosen(DeviceKind::WebGpu), died()],
        vec![ready_with(999)],
    ];
    for way in ways {
        let did = after([RUN, chosen(DeviceKind::WebGpu)].into_iter().chain(way.clone()));
        assert_eq!(did.asked.last().map(String::as_str), Some("respawn Cpu"), "{way:?}");
        assert_eq!(
            did.lab.machine.transport,
            Transport::Loading,
            "the run waits for the CPU device"
        );
        // The page says that it chose the CPU device as asked; the reason stays the true one.
        let did = continued(
            did.lab,
            [
                Msg::Chosen(Chosen::asked(DeviceKind::Cpu)),
                ready(),
                opened(),
                checked(0.0),
            ],
        );
        assert_eq!(did.asked, ["open", "load 1"]);
        let reason = did.lab.machine.chosen.as_ref().map(|chosen| chosen.reason.clone());
        assert!(matches!(reason, Some(ChoiceReason::GpuFailed(_))));
        // And should that one die, it is the CPU device again that is started.
        assert_eq!(continued(did.lab, [died()]).asked, ["respawn Cpu"]);
    }
}

fn ready_with(version: u32) -> Msg {
    Msg::Worker(Event::Ready { version })
}

#[test]
fn a_device_that_was_asked_for_is_refused_with_a_message() {
    let wrong = Fault::DeviceComputesWrongly {
        gradient_error: 1.0,
        loss_error: 0.0,
        tolerance: 1e-4,
    };
    let asked = [
        Msg::Device(DeviceChoice::WebGpu),
        Msg::Chosen(Chosen::asked(DeviceKind::WebGpu)),
        ready(),
        opened(),
        checked(1.0),
        fault_of(None, wrong.clone()),
        RUN,
    ];
    let did = after(asked);
    assert_eq!(did.asked, ["respawn WebGpu", "remember", "open"]);
    assert_eq!(did.lab.machine.device, DeviceState::Failed(wrong.clone()));
    assert_eq!(
        (did.lab.machine.fault, did.lab.machine.transport),
        (Some(wrong), Transport::Empty)
    );
    assert!(did.lab.recording.is_none());
}

#[test]
fn another_device_ends_the_run_and_keeps_what_it_recorded() {
    let mut path = path_to(Transport::Running);
    path.push(Msg::Worker(Event::Groups {
        run: RunId(1),
        rows: vec![group(0)],
    }));
    let did = continued(after(path).lab, [Msg::Device(DeviceChoice::Cpu)]);
    assert_eq!(did.asked, ["respawn Cpu", "remember"]);
    assert_eq!(
        (did.lab.machine.transport, &did.lab.machine.device),
        (Transport::Empty, &DeviceState::Starting)
    );
    assert_eq!(did.lab.recording.map(|recording| recording.groups.len()), Some(1));
    assert_eq!(did.lab.machine.fault, None);
}
