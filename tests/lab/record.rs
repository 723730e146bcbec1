//! What is kept of a run, and what is only looked at.

use microbatch_lab::{
    batch::Unit,
    lab::{Language, Msg, Theme, Transport},
    protocol::{CellState, DeviceKind, Event, RunId},
    setup::Key,
};

use super::{
    MapToStrings, after, chosen, continued, loaded, path_to,
    told::{self, group, plan},
};

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
