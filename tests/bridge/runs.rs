//! Runs that replace one another, fail, or are not there.

use microbatch_lab::protocol::{Command, Event, Fault, RunId};

use super::{
    RUN, ended, faults,
    worker::{Trial, load},
};

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
