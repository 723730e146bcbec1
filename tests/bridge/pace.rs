//! Full speed, slow motion, pauses and steps.

use microbatch_lab::protocol::{
    CellState::{Backward, Done, Forward},
    Command, Event, RunState, StepBy,
};

use super::{
    RUN, cells, ended, states,
    worker::{Trial, load, load_fixture},
};

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
fn the_step_that_reaches_the_budget_finishes_the_run() {
    use RunState::{Finished, Paused, Running};
    let trial = Trial {
        groups: 2,
        ..Trial::default()
    };
    let script = [
        (0, Command::Open),
        (1, load(1)),
        (2, Command::Step(RUN, StepBy::Update)),
        (100, Command::Step(RUN, StepBy::Update)),
    ];
    let events = trial.run(script).events();
    assert_eq!(states(&events), [Running, Paused, Running, Finished]);
    assert_eq!(ended(&events), [0, 1]);
}

#[test]
fn a_step_at_full_speed_does_one_update_and_shows_no_microbatch() {
    use RunState::{Paused, Running};
    let script = [
        (0, Command::Open),
        (1, load_fixture(1)),
        (2, Command::Step(RUN, StepBy::UpdateAtFullSpeed)),
        (100, Command::Step(RUN, StepBy::UpdateAtFullSpeed)),
    ];
    let events = Trial::default().run(script).events();
    assert_eq!(ended(&events), [0, 1]);
    assert_eq!(cells(&events), []);
    assert_eq!(states(&events), [Running, Paused, Running, Paused]);
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
