//! Probe, check and fit: asked of the worker's loop beside a run.

use microbatch_lab::{
    protocol::{Command, Event, Fault, FitReport, FitTry, FullBatch, ProbeReport, RunId, StepBy},
    setup::{Draft, Setup, parse::parse},
};

use super::{
    RUN, ended, faults,
    worker::{Told, Trial, load},
};

fn setup() -> Box<Setup> {
    Box::new(parse(&Draft::default()).expect("the default draft"))
}

fn preflight() -> Command {
    Command::Preflight {
        setup: setup(),
        own_text: None,
    }
}

fn fit(limit: u64) -> Command {
    Command::Fit {
        setup: setup(),
        own_text: None,
        limit,
    }
}

fn probes(told: &Told) -> Vec<(RunId, Result<ProbeReport, Fault>)> {
    let of = |event| match event {
        Event::Probed { run, report } => Some((run, report)),
        _ => None,
    };
    told.events().into_iter().filter_map(of).collect()
}

/// Why check and fit were refused, in the order told.
fn refusals(told: &Told) -> Vec<Fault> {
    let of = |event| match event {
        Event::Preflighted(report) => report.err(),
        Event::Fitted(report) => report.err(),
        _ => None,
    };
    told.events().into_iter().filter_map(of).collect()
}

#[test]
fn a_run_is_probed_between_groups_and_stays_as_it_is() {
    let script = [
        (0, Command::Open),
        (1, load(1)),
        (
            2,
            Command::Probe {
                run: RUN,
                full_batch: FullBatch::AsSum,
            },
        ),
        (3, Command::Step(RUN, StepBy::Update)),
        (
            100,
            Command::Probe {
                run: RUN,
                full_batch: FullBatch::AsSum,
            },
        ),
        (101, Command::Step(RUN, StepBy::Update)),
    ];
    let told = Trial::default().run(script);
    let groups: Vec<Option<u64>> = probes(&told)
        .into_iter()
        .map(|(run, report)| report.ok().filter(|_| run == RUN).map(|report| report.group))
        .collect();
    assert_eq!(groups, [Some(0), Some(1)], "the group that comes next");
    assert_eq!(ended(&told.events()), [0, 1]);
    assert!(faults(&told.events()).is_empty());
}

#[test]
fn inside_a_group_a_probe_is_refused_and_the_run_goes_on() {
    let script = [
        (0, Command::Open),
        (1, load(1)),
        (2, Command::Step(RUN, StepBy::Microbatch)),
        (
            100,
            Command::Probe {
                run: RUN,
                full_batch: FullBatch::AsSum,
            },
        ),
        (101, Command::Step(RUN, StepBy::Update)),
        (
            200,
            Command::Probe {
                run: RUN,
                full_batch: FullBatch::AsSum,
            },
        ),
    ];
    let told = Trial::default().run(script);
    let answers = probes(&told);
    assert_eq!(answers[0], (RUN, Err(Fault::InsideGroup)));
    assert!(answers[1].1.is_ok() && answers.len() == 2);
    assert_eq!(ended(&told.events()), [0]);
    assert!(faults(&told.events()).is_empty(), "no fault of the run");
}

#[test]
fn a_probe_of_another_run_is_late_or_wrong() {
    let script = [
        (0, Command::Open),
        (1, load(1)),
        (2, load(2)),
        (
            3,
            Command::Probe {
                run: RUN,
                full_batch: FullBatch::AsSum,
            },
        ),
        (
            4,
            Command::Probe {
                run: RunId(9),
                full_batch: FullBatch::AsSum,
            },
        ),
        (
            5,
            Command::Probe {
                run: RunId(2),
                full_batch: FullBatch::AsSum,
            },
        ),
    ];
    let told = Trial::default().run(script);
    let probed: Vec<RunId> = probes(&told).into_iter().map(|(run, _)| run).collect();
    assert_eq!(probed, [RunId(2)]);
    assert_eq!(faults(&told.events()), [(Some(RunId(9)), Fault::NoSuchRun)]);
}

#[test]
fn a_refused_device_checks_and_fits_nothing() {
    let wrong = Trial {
        check_error: 0.5,
        ..Trial::default()
    };
    let told = wrong.run([(0, Command::Open), (1, preflight()), (2, fit(100))]);
    let refusals_told = refusals(&told);
    assert_eq!(refusals_told.len(), 2);
    let computes_wrongly =
        |fault: &Fault| matches!(fault, Fault::DeviceComputesWrongly { gradient_error, .. } if *gradient_error > 0.1);
    assert!(refusals_told.iter().all(computes_wrongly), "{refusals_told:?}");
    let tried = told.events().iter().any(|event| matches!(event, Event::FitTried(_)));
    assert!(!tried, "nothing was tried on it");
    // Nor does one that was never opened.
    let told = Trial::default().run([(0, preflight()), (1, fit(100))]);
    assert_eq!(refusals(&told), [Fault::NoSuchRun, Fault::NoSuchRun]);
}

#[test]
fn tries_are_told_before_what_was_found_and_the_limit_arrives() {
    let told = Trial::default().run([(0, Command::Open), (1, preflight()), (2, fit(12_345))]);
    assert!(refusals(&told).is_empty());
    let of = |event| match event {
        Event::FitTried(tried) => Some(Err(tried)),
        Event::Fitted(report) => Some(report.map_err(|fault| panic!("{fault}"))),
        _ => None,
    };
    let found: Vec<Result<FitReport, FitTry>> = told.events().into_iter().filter_map(of).collect();
    let [Err(tried), Ok(report)] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!((report.limit, report.tries.as_slice()), (12_345, [*tried].as_slice()));
    assert!(
        told.events()
            .iter()
            .any(|event| matches!(event, Event::Preflighted(Ok(_))))
    );
}

#[test]
fn a_loaded_run_survives_a_check_and_a_fit() {
    let script = [
        (0, Command::Open),
        (1, load(1)),
        (2, Command::Step(RUN, StepBy::Update)),
        (100, preflight()),
        (101, fit(9)),
        (102, Command::Step(RUN, StepBy::Update)),
    ];
    let told = Trial::default().run(script);
    assert_eq!(ended(&told.events()), [0, 1]);
    assert!(faults(&told.events()).is_empty());
}

/// A fit of a second, with a command in the middle of it.
fn stopped_by(work: Command, command: Command) -> (Told, Vec<Fault>) {
    let long = Trial {
        work: 1000,
        ..Trial::default()
    };
    let told = long.run([(0, Command::Open), (1, load(1)), (2, work), (300, command)]);
    let refusals = refusals(&told);
    (told, refusals)
}

#[test]
fn whoever_turns_to_a_run_waits_for_no_check_and_no_fit() {
    for command in [
        Command::Stop,
        load(2),
        Command::Run(RUN),
        Command::Pause(RUN),
        Command::Step(RUN, StepBy::Update),
    ] {
        for work in [fit(9), preflight()] {
            let (told, refusals) = stopped_by(work, command.clone());
            assert_eq!(refusals, [Fault::Stopped], "{command:?}");
            let stopped =
                told.at(|event| matches!(event, Event::Fitted(Err(_)) | Event::Preflighted(Err(Fault::Stopped))));
            assert!((300.0..=310.0).contains(&stopped), "{stopped}: {command:?}");
            // What ended the work is obeyed next.
            match command {
                Command::Load { .. } => {
                    assert!(told.at(|event| matches!(event, Event::Loaded { run, .. } if *run == RunId(2))) <= 310.0);
                }
                Command::Run(_) => assert_eq!(ended(&told.events()).len(), 10),
                Command::Step(..) => assert_eq!(ended(&told.events()), [0]),
                _ => {}
            }
            assert!(faults(&told.events()).is_empty(), "no fault of a run");
        }
    }
}

#[test]
fn what_concerns_no_run_waits_for_the_answer() {
    for command in [
        preflight(),
        Command::Pace { run: RUN, pause_ms: 9 },
        Command::Probe {
            run: RUN,
            full_batch: FullBatch::AsSum,
        },
    ] {
        let (told, refusals) = stopped_by(fit(9), command.clone());
        assert!(refusals.is_empty(), "{command:?}");
        let done = told.at(|event| matches!(event, Event::Fitted(Ok(_))));
        assert!(done >= 1000.0, "{done}");
        assert!(
            told.longest_turn_ms <= 9.0,
            "{} ms without a turn",
            told.longest_turn_ms
        );
    }
}
