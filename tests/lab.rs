//! The page's state: what each message does to it, and what it asks of the outside.
#![cfg(not(target_arch = "wasm32"))]

#[path = "lab/beside.rs"]
mod beside;
#[path = "lab/told.rs"]
mod told;

use microbatch_lab::{
    batch::Unit,
    data::DataError,
    lab::{DeviceState, Effect, Lab, Language, Msg, OwnFile, Theme, Transport, msg::Go, update},
    protocol::{
        CellState, ChoiceReason, Chosen, Command, DeviceChoice, DeviceKind, Event, Fault, RunId, RunState, StepBy,
    },
    setup::{Draft, Key},
};
use told::{checked, facts, group, opened, plan, ready};

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
        Effect::Send(Command::Run(run)) => format!("run {}", run.0),
        Effect::Send(Command::Pause(run)) => format!("pause {}", run.0),
        Effect::Send(Command::Step(run, by)) => format!("step {} {by:?}", run.0),
        Effect::Send(Command::Pace { run, pause_ms }) => format!("pace {} {pause_ms}", run.0),
        Effect::Send(Command::Probe(run)) => format!("probe {}", run.0),
        Effect::Send(Command::Preflight { .. }) => "preflight".to_owned(),
        Effect::Send(Command::Fit { limit, .. }) => format!("fit {limit}"),
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

trait MapToStrings {
    fn map_to_strings(&self) -> Vec<String>;
}

impl MapToStrings for &[&str] {
    fn map_to_strings(&self) -> Vec<String> {
        self.iter().map(|text| (*text).to_owned()).collect()
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

#[test]
fn a_bad_draft_leaves_the_running_run_and_its_recording() {
    let mut path = path_to(Transport::Running);
    path.push(Msg::Worker(Event::Groups {
        run: RunId(1),
        rows: vec![group(0)],
    }));
    for text in ["", "0", "-1", "1.5", "many", "99999999999999999999"] {
        let start = after(path.clone()).lab;
        let did = continued(start, [Msg::Edit(Key::Microbatch, text.to_owned()), Msg::Reset]);
        assert_eq!(did.asked, ["link"], "{text:?}");
        assert!(did.lab.errors.iter().all(|error| error.key == Key::Microbatch) && !did.lab.errors.is_empty());
        assert_eq!(
            (did.lab.machine.transport, did.lab.machine.run),
            (Transport::Running, RunId(1))
        );
        assert_eq!(
            did.lab.recording.as_ref().map(|recording| recording.groups.len()),
            Some(1)
        );
        assert!(did.lab.draft_changed());
    }
}

#[test]
fn a_link_or_a_preset_never_starts_a_run() {
    let other = Draft::default().with(Key::Accumulation, "8");
    for transport in [
        Transport::Empty,
        Transport::Paused,
        Transport::Running,
        Transport::Finished,
    ] {
        let start = after(path_to(transport)).lab;
        let did = continued(start, [Msg::Replace(other.clone())]);
        assert_eq!(did.asked, ["link"]);
        assert_eq!(did.lab.machine.transport, transport);
    }
    // Not even when the worker comes up afterwards.
    let did = after([Msg::Replace(other)].into_iter().chain(usable()));
    assert_eq!(did.asked, ["link", "open"]);
}

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

#[test]
fn the_persons_own_file_is_needed_by_name() {
    let file = |name: &str| OwnFile {
        name: name.to_owned(),
        text: "some text".into(),
    };
    let wants = Draft::default().with(Key::Data, "text").with(Key::FileName, "mine.txt");
    let needed = Some(Fault::Data(DataError::FileNeeded {
        name: "mine.txt".to_owned(),
    }));
    let did = after(usable().into_iter().chain([Msg::Replace(wants.clone()), RUN]));
    assert_eq!(
        (did.asked.as_slice(), did.lab.machine.fault),
        (["open".to_owned(), "link".to_owned()].as_slice(), needed.clone())
    );
    assert!(did.lab.recording.is_none());

    let with_file = [
        Msg::Edit(Key::Data, "text".to_owned()),
        Msg::OwnFile(Ok(file("mine.txt"))),
        RUN,
    ];
    let did = after(usable().into_iter().chain(with_file));
    assert_eq!(did.asked.last().map(String::as_str), Some("load 1"));
    assert_eq!(did.lab.blueprint.draft.get(Key::FileName), "mine.txt");

    // A file of another name is not the one a link means.
    let did = after(
        usable()
            .into_iter()
            .chain([Msg::OwnFile(Ok(file("other.txt"))), Msg::Replace(wants), RUN]),
    );
    assert_eq!(did.lab.machine.fault, needed);

    let did = after([Msg::OwnFile(Err(DataError::Empty))]);
    assert_eq!(
        (did.asked.len(), did.lab.machine.fault),
        (0, Some(Fault::Data(DataError::Empty)))
    );
}

#[test]
fn what_is_only_looked_at_asks_nothing_of_the_worker() {
    let cases: [(Msg, &[&str]); 7] = [
        (Msg::Axis(Unit::Examples), &[]),
        (Msg::ToggleLane(1), &[]),
        (Msg::Language(Language::Russian), &["remember"]),
        (Msg::Theme(Theme::Dark), &["remember"]),
        (Msg::DismissFault, &[]),
        (Msg::DismissLink, &[]),
        (chosen(DeviceKind::Cpu), &[]),
    ];
    for (msg, asked) in cases {
        let did = continued(after(path_to(Transport::Running)).lab, [msg.clone()]);
        assert_eq!(did.asked, asked.map_to_strings(), "{msg:?}");
        assert_eq!(did.lab.machine.transport, Transport::Running);
    }
    let twice = after([Msg::ToggleLane(1), Msg::ToggleLane(0), Msg::ToggleLane(1)]).lab;
    assert_eq!(twice.blueprint.hidden_lanes, [0]);
}

#[test]
fn the_recording_follows_a_watched_group_and_a_fast_one() {
    let row = |cell, state, watched| told::microbatch(0, cell, state, watched);
    let start = after(path_to(Transport::Running)).lab;
    let watched = [
        Msg::Worker(Event::Group {
            run: RunId(1),
            plan: plan(0),
        }),
        Msg::Worker(Event::Microbatches {
            run: RunId(1),
            rows: vec![row(0, CellState::Forward, false)],
        }),
        Msg::Worker(Event::Microbatches {
            run: RunId(1),
            rows: vec![row(0, CellState::Done, true), row(1, CellState::Forward, false)],
        }),
        // A cell that the plan does not have, and a group that is not the current one.
        Msg::Worker(Event::Microbatches {
            run: RunId(1),
            rows: vec![
                row(99, CellState::Done, true),
                told::microbatch(7, 0, CellState::Waiting, true),
            ],
        }),
    ];
    let lab = continued(start, watched).lab;
    let current = lab
        .recording
        .as_ref()
        .and_then(|recording| recording.current.clone())
        .expect("a group");
    assert_eq!(current.states, [CellState::Done, CellState::Forward]);
    assert!(current.rows[0].is_some() && current.rows[1].is_none() && current.ended.is_none());

    let rows = vec![group(0), group(1), group(2)];
    let lab = continued(lab, [Msg::Worker(Event::Groups { run: RunId(1), rows })]).lab;
    let recording = lab.recording.expect("a recording");
    let current = recording.current.as_ref().expect("a group");
    assert_eq!((current.plan.number, current.ended), (2, Some(2)));
    assert!(current.states.iter().all(|state| *state == CellState::Reduced));
    assert_eq!(
        recording.lanes[0].axis(Unit::AppliedUpdates).collect::<Vec<_>>(),
        [1.0, 2.0, 3.0]
    );
    assert_eq!(recording.latest().map(|row| row.plan.number), Some(2));
    assert_eq!(recording.done(), 3);
    assert!((recording.progress() - 3.0 / 400.0).abs() < 1e-12);
    let left = recording.remaining_ms().expect("a pace");
    assert!((left - 30.0 / 3.0 * 397.0).abs() < 1e-9, "{left}");
}

#[test]
fn a_replaced_run_is_kept_for_comparison_and_named_by_what_changed() {
    let ended = |run| {
        Msg::Worker(Event::Groups {
            run: RunId(run),
            rows: vec![group(0)],
        })
    };
    let mut path = path_to(Transport::Running);
    path.push(ended(1));
    path.extend([Msg::Edit(Key::Accumulation, "8".to_owned()), Msg::Reset, loaded(2)]);
    let lab = after(path).lab;
    let runs: Vec<_> = lab.past.runs().collect();
    assert_eq!(runs.len(), 1);
    assert_eq!((runs[0].run, runs[0].lanes[0].counters.len()), (RunId(1), 1));
    let changes = runs[0].changes_to(&lab.blueprint.draft);
    assert_eq!(
        changes.iter().map(|change| change.key).collect::<Vec<_>>(),
        [Key::Accumulation]
    );
    // A run without any group is no memory, and only a few are kept.
    let lab = continued(lab, [Msg::Reset, loaded(3)]).lab;
    assert_eq!(lab.past.runs().len(), 1);
    let more = (3..12).flat_map(|run| [ended(run), Msg::Reset, loaded(run + 1)]);
    let lab = continued(lab, more).lab;
    assert_eq!(
        lab.past.runs().map(|past| past.run.0).collect::<Vec<_>>(),
        [11, 10, 9, 8]
    );
}

#[test]
fn data_that_cannot_be_used_leaves_the_running_run_and_its_recording() {
    let broken = OwnFile {
        name: "mine.jsonl".to_owned(),
        text: "{\"prompt\": ".into(),
    };
    let more = [
        Msg::Edit(Key::Data, "jsonl".to_owned()),
        Msg::OwnFile(Ok(broken)),
        Msg::Reset,
    ];
    let did = after(path_to(Transport::Running).into_iter().chain(more));
    assert!(
        matches!(
            did.lab.machine.fault,
            Some(Fault::Data(DataError::BadJson { line: 1, .. }))
        ),
        "{:?}",
        did.lab.machine.fault
    );
    assert_eq!(did.lab.machine.transport, Transport::Running);
    assert_eq!(
        did.lab.recording.map(|recording| recording.run),
        Some(did.lab.machine.run)
    );
}
