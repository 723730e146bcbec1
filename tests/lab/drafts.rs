//! What is typed, linked or given as a file: never a run by itself, never the end of one.

use microbatch_lab::{
    data::DataError,
    lab::{Msg, OwnFile, Transport},
    protocol::{Event, Fault, RunId},
    setup::{Draft, Key},
};

use super::{RUN, after, continued, path_to, told::group, usable};

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
