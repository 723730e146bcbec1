//! The worker's loop against a trainer that does nothing and a clock that does not run: what is told when, and where a run may stop.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::expect_used, reason = "a helper of a test fails it")]

mod worker;

use microbatch_lab::{
    bridge::wire,
    protocol::{
        AdapterFacts, AdapterInfo,
        CellState::{self, Backward, Done, Forward},
        ChoiceReason, Chosen, Command, DeviceKind, Event, Fault, Found, RunId, RunState, StepBy, VERSION,
    },
};
use worker::{Trial, load};

const RUN: RunId = RunId(1);

fn states(events: &[Event]) -> Vec<RunState> {
    events
        .iter()
        .filter_map(|event| match event {
            Event::State { state, .. } => Some(*state),
            _ => None,
        })
        .collect()
}

fn cells(events: &[Event]) -> Vec<(u64, u32, CellState)> {
    let rows = events.iter().filter_map(|event| match event {
        Event::Microbatches { rows, .. } => Some(rows),
        _ => None,
    });
    rows.flatten().map(|row| (row.group, row.cell, row.state)).collect()
}

fn ended(events: &[Event]) -> Vec<u64> {
    let rows = events.iter().filter_map(|event| match event {
        Event::Groups { rows, .. } => Some(rows),
        _ => None,
    });
    rows.flatten().map(|row| row.plan.number).collect()
}

fn faults(events: &[Event]) -> Vec<(Option<RunId>, Fault)> {
    events
        .iter()
        .filter_map(|event| match event {
            Event::Fault { run, fault } => Some((*run, fault.clone())),
            _ => None,
        })
        .collect()
}

#[test]
fn the_worker_says_ready_then_opens_and_checks() {
    let told = Trial::default().run([(0, Command::Open)]).events();
    assert_eq!(told[0], Event::Ready { version: VERSION });
    assert!(
        matches!(told[1..], [Event::Preparing(_), Event::Opened(_), Event::Checked(_)]),
        "{told:?}"
    );
}

#[test]
fn a_device_that_computes_wrongly_is_refused() {
    let told = Trial {
        check_error: 0.1,
        ..Trial::default()
    }
    .run([(0, Command::Open), (1, load(1))])
    .events();
    let faults = faults(&told);
    assert!(
        matches!(faults[0], (None, Fault::DeviceComputesWrongly { .. })),
        "{faults:?}"
    );
    assert!(
        matches!(faults[1], (Some(RUN), Fault::DeviceComputesWrongly { .. })),
        "{faults:?}"
    );
    assert!(!told.iter().any(|event| matches!(event, Event::Loaded { .. })));
}

#[test]
fn a_check_that_is_not_a_number_is_no_pass() {
    let told = Trial {
        check_error: f64::NAN,
        ..Trial::default()
    }
    .run([(0, Command::Open)])
    .events();
    assert_eq!(faults(&told).len(), 1);
}

#[test]
fn at_full_speed_every_group_is_told_once_and_a_message_a_frame() {
    let trial = Trial {
        groups: 500,
        cell_ms: 0.5,
        ..Trial::default()
    };
    let told = trial.run([(0, Command::Open), (1, load(1)), (2, Command::Run(RUN))]);
    let events = told.events();
    assert_eq!(ended(&events), (0..500).collect::<Vec<_>>());
    assert_eq!(states(&events), [RunState::Running, RunState::Finished]);
    assert!(cells(&events).is_empty(), "nobody could follow them");
    let frames = told.last_ms() / 16.0;
    let messages = told.messages.len() as f64;
    assert!(messages <= frames + 10.0, "{messages} messages in {frames} frames");
    assert!(told.longest_turn_ms < 10.0, "{}", told.longest_turn_ms);
}

#[test]
fn a_slow_group_is_told_while_it_lasts() {
    let trial = Trial {
        groups: 1,
        cell_ms: 60.0,
        ..Trial::default()
    };
    let events = trial
        .run([(0, Command::Open), (1, load(1)), (2, Command::Run(RUN))])
        .events();
    let plans = events
        .iter()
        .filter(|event| matches!(event, Event::Group { .. }))
        .count();
    assert_eq!(plans, 1);
    assert!(!cells(&events).is_empty());
    assert_eq!(ended(&events), [0]);
}

#[test]
fn pause_waits_for_the_end_of_the_group() {
    let trial = Trial {
        groups: 100,
        cell_ms: 3.0,
        ..Trial::default()
    };
    let told = trial.run([
        (0, Command::Open),
        (1, load(1)),
        (2, Command::Run(RUN)),
        (50, Command::Pause(RUN)),
    ]);
    assert_eq!(states(&told.events()), [RunState::Running, RunState::Paused]);
    assert!(told.between_groups, "stopped inside a group");
    let paused_at = told.at(|event| {
        matches!(
            event,
            Event::State {
                state: RunState::Paused,
                ..
            }
        )
    });
    // A group takes 12 ms, and the command is seen within a turn.
    assert!((50.0..=75.0).contains(&paused_at), "{paused_at}");
    assert!(!ended(&told.events()).is_empty());
}

#[test]
fn a_paused_run_says_so_again_and_goes_on_where_it_stood() {
    use RunState::{Finished, Paused, Running};
    let trial = Trial {
        groups: 3,
        ..Trial::default()
    };
    let script = [
        (0, Command::Open),
        (1, load(1)),
        (2, Command::Pause(RUN)),
        (3, Command::Step(RUN, StepBy::Update)),
        (100, Command::Run(RUN)),
        (500, Command::Run(RUN)),
    ];
    let events = trial.run(script).events();
    assert_eq!(states(&events), [Paused, Running, Paused, Running, Finished, Finished]);
    assert_eq!(ended(&events), [0, 1, 2]);
}

#[test]
fn a_step_by_microbatch_does_one_and_the_last_one_updates() {
    let mut script = vec![(0, Command::Open), (1, load(1))];
    script.extend((0..5).map(|i| (10 + i * 100, Command::Step(RUN, StepBy::Microbatch))));
    let told = Trial::default().run(script);
    let events = told.events();
    let expected: Vec<_> = [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)]
        .into_iter()
        .flat_map(|(group, cell)| [Forward, Backward, Done].map(|state| (group, cell, state)))
        .collect();
    assert_eq!(cells(&events), expected);
    assert_eq!(ended(&events), [0]);
    assert_eq!(
        states(&events)
            .iter()
            .filter(|state| **state == RunState::Paused)
            .count(),
        5
    );
    let fourth = events.iter().position(|event| matches!(event, Event::Groups { .. }));
    let began = events.iter().rposition(|event| matches!(event, Event::Group { .. }));
    assert!(fourth < began, "the update is told before the next group");
}

#[test]
fn a_group_without_anything_to_compute_is_one_step() {
    let trial = Trial {
        empty_group: Some(0),
        ..Trial::default()
    };
    let step = Command::Step(RUN, StepBy::Microbatch);
    let events = trial.run([(0, Command::Open), (1, load(1)), (2, step)]).events();
    assert_eq!((ended(&events), cells(&events)), (vec![0], vec![]));
    assert_eq!(states(&events), [RunState::Running, RunState::Paused]);
}

#[test]
fn slow_motion_shows_each_microbatch_for_as_long_as_asked() {
    let trial = Trial {
        groups: 1,
        cell_ms: 0.0,
        ..Trial::default()
    };
    let pace = Command::Pace {
        run: RUN,
        pause_ms: 300,
    };
    let told = trial.run([(0, Command::Open), (1, load(1)), (2, pace), (3, Command::Run(RUN))]);
    let shown = [Forward, Backward, Done];
    let expected: Vec<_> = (0..4).flat_map(|cell| shown.map(|state| (0, cell, state))).collect();
    assert_eq!(cells(&told.events()), expected);
    let finished = told.at(|event| {
        matches!(
            event,
            Event::State {
                state: RunState::Finished,
                ..
            }
        )
    });
    let last = told.at(|event| matches!(event, Event::Groups { .. }));
    assert!(
        finished - last >= 300.0,
        "the update is seen as long: {last} to {finished}"
    );
    let first = told.at(|event| matches!(event, Event::Group { .. }));
    assert!(last - first >= 4.0 * 300.0, "{first} to {last}");
    for (_, message) in &told.messages {
        assert!(cells(message).len() <= 1, "shown together: {message:?}");
    }
}

#[test]
fn slow_motion_pauses_at_a_microbatch_and_full_speed_takes_over_at_once() {
    let pace = |pause_ms| Command::Pace { run: RUN, pause_ms };
    let start = [
        (0, Command::Open),
        (1, load(1)),
        (2, pace(3000)),
        (3, Command::Run(RUN)),
    ];
    // In the middle of the first microbatch's forward.
    let script = start.clone().into_iter().chain([(1500, Command::Pause(RUN))]);
    let told = Trial {
        groups: 1,
        ..Trial::default()
    }
    .run(script);
    assert_eq!(states(&told.events()), [RunState::Running, RunState::Paused]);
    assert_eq!(cells(&told.events()).last(), Some(&(0, 0, Done)), "not left half done");
    assert!(told.last_ms() < 1600.0, "the person does not wait for slow motion");

    let script = start.into_iter().chain([(500, pace(0))]);
    let told = Trial {
        groups: 1,
        ..Trial::default()
    }
    .run(script);
    assert_eq!(states(&told.events()), [RunState::Running, RunState::Finished]);
    assert!(told.last_ms() < 1000.0, "{}", told.last_ms());
}

#[test]
fn commands_for_older_runs_are_late_and_for_unknown_ones_wrong() {
    let script = [
        (0, Command::Open),
        (1, load(1)),
        (2, load(5)),
        (3, Command::Run(RUN)),
        (4, Command::Pause(RunId(9))),
    ];
    let told = Trial::default().run(script);
    assert_eq!(faults(&told.events()), [(Some(RunId(9)), Fault::NoSuchRun)]);
    assert!(ended(&told.events()).is_empty());
}

#[test]
fn of_two_runs_that_wait_only_the_later_is_built() {
    let told = Trial {
        open_ms: 100.0,
        ..Trial::default()
    }
    .run([(0, Command::Open), (1, load(1)), (2, load(2))]);
    let loaded: Vec<RunId> = told
        .events()
        .iter()
        .filter_map(|event| match event {
            Event::Loaded { run, .. } => Some(*run),
            _ => None,
        })
        .collect();
    assert_eq!(loaded, [RunId(2)]);
}

#[test]
fn a_new_run_replaces_the_one_that_trains() {
    let trial = Trial {
        groups: 1000,
        cell_ms: 1.0,
        ..Trial::default()
    };
    let script = [(0, Command::Open), (1, load(1)), (2, Command::Run(RUN)), (60, load(2))];
    let told = trial.run(script);
    let loaded = told.at(|event| matches!(event, Event::Loaded { run: RunId(2), .. }));
    assert!(loaded < 90.0, "{loaded}");
    let late = told
        .events()
        .into_iter()
        .skip_while(|event| !matches!(event, Event::Loaded { run: RunId(2), .. }));
    assert!(ended(&late.collect::<Vec<_>>()).is_empty());
}

#[test]
fn faults_are_told_and_end_the_run_but_not_the_worker() {
    let trial = Trial {
        fails_at: Some((2, Fault::NoSuchRun)),
        cell_ms: 1.0,
        ..Trial::default()
    };
    let script = [(0, Command::Open), (1, load(1)), (2, Command::Run(RUN)), (900, load(2))];
    let events = trial.run(script).events();
    assert_eq!(faults(&events), [(Some(RUN), Fault::NoSuchRun)]);
    assert_eq!(ended(&events), [0, 1], "what was done before is told");
    assert!(matches!(events.last(), Some(Event::Loaded { run: RunId(2), .. })));
}

#[test]
fn a_lost_device_is_nobodys_run() {
    let lost = Fault::DeviceLost {
        reason: "unplugged".to_owned(),
    };
    let trial = Trial {
        fails_at: Some((0, lost.clone())),
        ..Trial::default()
    };
    let events = trial
        .run([(0, Command::Open), (1, load(1)), (2, Command::Run(RUN))])
        .events();
    assert_eq!(faults(&events), [(None, lost)]);
}

#[test]
fn messages_arrive_as_they_were_sent_and_broken_ones_are_refused() {
    let events = vec![
        Event::Ready { version: 7 },
        Event::State {
            run: RUN,
            state: RunState::Finished,
        },
    ];
    let bytes = wire::encode_events(&events).expect("bytes");
    assert_eq!(wire::decode_events(&bytes), Ok(events));
    let command = load(3);
    let bytes = wire::encode_command(&command).expect("bytes");
    assert_eq!(wire::decode_command(&bytes), Ok(command));

    let longer = [bytes.as_slice(), &[0]].concat();
    for broken in [&bytes[..bytes.len() - 1], &longer, &[250, 1, 2]] {
        assert!(matches!(wire::decode_command(broken), Err(Fault::Unreachable { .. })));
    }
}

#[test]
fn auto_takes_webgpu_only_on_hardware_and_says_why_not() {
    use DeviceKind::{Cpu, WebGpu};
    let adapter = |vendor: &str, architecture: &str, description: &str, fallback| {
        Found::Adapter(AdapterInfo {
            vendor: vendor.to_owned(),
            architecture: architecture.to_owned(),
            device: String::new(),
            description: description.to_owned(),
            fallback,
        })
    };
    let software = |name: &str| ChoiceReason::Software {
        adapter: name.to_owned(),
    };
    let hardware = |name: &str| ChoiceReason::Hardware {
        adapter: name.to_owned(),
    };
    let cases = [
        (Found::NoWebGpu, Cpu, ChoiceReason::NoWebGpu),
        (Found::NoAdapter, Cpu, ChoiceReason::NoAdapter),
        (
            adapter("google", "swiftshader", "", false),
            Cpu,
            software("google swiftshader"),
        ),
        (
            adapter("", "", "SwiftShader Device (Subzero)", false),
            Cpu,
            software("SwiftShader Device (Subzero)"),
        ),
        (
            adapter("mesa", "", "llvmpipe (LLVM 17)", false),
            Cpu,
            software("llvmpipe (LLVM 17)"),
        ),
        (adapter("microsoft", "warp", "", false), Cpu, software("microsoft warp")),
        (
            adapter("", "", "Microsoft Basic Render Driver", false),
            Cpu,
            software("Microsoft Basic Render Driver"),
        ),
        (adapter("intel", "gen-12lp", "", true), Cpu, software("intel gen-12lp")),
        (
            adapter("nvidia", "ampere", "", false),
            WebGpu,
            hardware("nvidia ampere"),
        ),
        (
            adapter("apple", "metal-3", "", false),
            WebGpu,
            hardware("apple metal-3"),
        ),
        // Browsers may tell nothing at all.
        (adapter("", "", "", false), WebGpu, hardware("")),
        (
            adapter("", "", "Warped Reality 9000", false),
            WebGpu,
            hardware("Warped Reality 9000"),
        ),
    ];
    for (found, device, reason) in cases {
        assert_eq!(Chosen::auto(&found), Chosen { device, reason }, "{found:?}");
    }
}

#[test]
fn a_browser_completes_what_a_device_does_not_say() {
    let told = AdapterInfo {
        vendor: "google".to_owned(),
        architecture: "swiftshader".to_owned(),
        ..AdapterInfo::default()
    };
    let mut facts = AdapterFacts {
        vendor: "0x1ae0".to_owned(),
        ..AdapterFacts::default()
    };
    facts.complete(&told);
    assert_eq!(
        (facts.name.as_str(), facts.vendor.as_str(), facts.architecture.as_str()),
        ("google swiftshader", "0x1ae0", "swiftshader")
    );
    assert!(facts.software);
}
