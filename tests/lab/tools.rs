//! The probe, the check before a campaign and the largest m that fits: when they are asked for, and what becomes of the answer.

use microbatch_lab::{
    batch::ConventionId,
    data::DataError,
    lab::{Answer, DeviceState, Lab, Msg, NotNow, OwnFile, Transport, ready},
    protocol::{
        CheckKind, DeviceChoice, DeviceKind, Event, Fault, FitReport, FitTry, FittingSplit, FullBatch, PreflightCheck,
        PreflightReport, ProbeReport, ProbeRow, RunId, RunState,
    },
    setup::{Draft, Key},
};

use super::{After, RUN, after, chosen, continued, died, fault_of, loaded, path_to, says, usable};

fn probed(run: u32, group: u64) -> Msg {
    let row = ProbeRow {
        convention: ConventionId::TokenWeighted,
        gradient_norm: 1.5,
        cosine: 1.0,
        relative_l2: 1e-7,
        norm_ratio: 1.0,
        loss: 2.0,
        loss_ratio: 1.0,
    };
    Msg::Worker(Event::Probed {
        run: RunId(run),
        report: Ok(ProbeReport {
            group,
            applied_updates: group,
            supervised_tokens: 12,
            full_batch: FullBatch::AsSum,
            full_batch_norm: 1.5,
            rows: vec![row],
            noise_floor: 1e-7,
            backwards: 9,
            elapsed_ms: 3.0,
        }),
    })
}

fn checks(passed: bool) -> PreflightReport {
    PreflightReport {
        checks: vec![PreflightCheck {
            kind: CheckKind::Denominator,
            lane: None,
            measured: 12.0,
            expected: 12.0,
            tolerance: 0.0,
            passed,
        }],
    }
}

fn tried(microbatch: u32, fits: bool) -> FitTry {
    FitTry {
        microbatch,
        peak: u64::from(microbatch) * 1000,
        fits,
    }
}

fn fitted() -> FitReport {
    FitReport {
        limit: 2500,
        target: 16,
        tries: vec![tried(1, true), tried(2, true), tried(4, false)],
        split: Some(FittingSplit {
            microbatch: 2,
            accumulation: 4,
            replicas: 2,
            remainder: 0,
        }),
    }
}

const ALL: [Transport; 7] = [
    Transport::Empty,
    Transport::Loading,
    Transport::Paused,
    Transport::Running,
    Transport::Pausing,
    Transport::Finished,
    Transport::Failed,
];

fn asked(lab: Lab, msg: Msg) -> Vec<String> {
    continued(lab, [msg]).asked
}

#[test]
fn a_probe_is_asked_only_of_a_run_that_stands_at_a_boundary() {
    for transport in ALL {
        let did = continued(after(path_to(transport)).lab, [Msg::Probe(FullBatch::AsSum)]);
        let stands = matches!(transport, Transport::Paused | Transport::Finished);
        assert_eq!(
            did.asked,
            if stands { vec!["probe 1"] } else { vec![] },
            "{transport:?}"
        );
        assert_eq!(did.lab.tools.probe.waits(), stands);
        assert_eq!(did.lab.machine.transport, transport);
    }
}

#[test]
fn checks_and_fits_are_asked_only_of_a_device_that_is_free() {
    for transport in ALL {
        let lab = after(path_to(transport)).lab;
        let busy = matches!(transport, Transport::Loading | Transport::Running | Transport::Pausing);
        let wanted = |word: &str| if busy { Vec::new() } else { vec![word.to_owned()] };
        assert_eq!(asked(lab.clone(), Msg::Preflight), wanted("preflight"), "{transport:?}");
        assert_eq!(asked(lab, Msg::Fit(2500)), wanted("fit 2500"), "{transport:?}");
    }
    // Before the device was checked, and where it was refused.
    for path in [vec![], vec![chosen(DeviceKind::Cpu)]] {
        let lab = after(path).lab;
        assert!(asked(lab.clone(), Msg::Preflight).is_empty() && asked(lab, Msg::Fit(1)).is_empty());
    }
    // A draft with errors is shown at its fields.
    let bad = continued(after(usable()).lab, [Msg::Edit(Key::Microbatch, "0".to_owned())]).lab;
    for msg in [Msg::Preflight, Msg::Fit(1)] {
        let did = continued(bad.clone(), [msg]);
        assert_eq!((did.asked.len(), &did.lab.tools), (0, &bad.tools));
        assert!(!did.lab.errors.is_empty());
    }
}

#[test]
fn answers_arrive_where_they_were_asked_for() {
    let did = continued(
        after(path_to(Transport::Paused)).lab,
        [Msg::Probe(FullBatch::AsSum), probed(1, 3)],
    );
    assert!(matches!(&did.lab.tools.probe, Answer::Done(report) if report.group == 3 && report.rows.len() == 1));

    let refused = Msg::Worker(Event::Probed {
        run: RunId(1),
        report: Err(Fault::InsideGroup),
    });
    let did = continued(did.lab, [Msg::Probe(FullBatch::AsSum), refused]);
    assert_eq!(did.lab.tools.probe, Answer::Failed(Fault::InsideGroup));
    assert_eq!(did.lab.machine.transport, Transport::Paused, "the run goes on");

    let did = continued(
        after(usable()).lab,
        [Msg::Preflight, Msg::Worker(Event::Preflighted(Ok(checks(true))))],
    );
    assert_eq!(did.lab.tools.preflight, Answer::Done(checks(true)));
    assert!(checks(true).passed() && !checks(false).passed());
    assert!(
        !PreflightReport { checks: Vec::new() }.passed(),
        "nothing checked is nothing passed"
    );
}

#[test]
fn tries_are_shown_as_they_come_and_begin_anew_with_each_search() {
    let try_of = |tried| Msg::Worker(Event::FitTried(tried));
    let did = continued(
        after(usable()).lab,
        [Msg::Fit(2500), try_of(tried(1, true)), try_of(tried(2, true))],
    );
    assert!(did.lab.tools.fit.waits());
    assert_eq!(did.lab.tools.fit_tries, [tried(1, true), tried(2, true)]);
    let end = [try_of(tried(4, false)), Msg::Worker(Event::Fitted(Ok(fitted())))];
    let did = continued(did.lab, end);
    assert_eq!(did.lab.tools.fit, Answer::Done(fitted()));
    assert_eq!(did.lab.tools.fit_tries, fitted().tries);
    let did = continued(did.lab, [Msg::Fit(9999)]);
    assert!(did.lab.tools.fit.waits() && did.lab.tools.fit_tries.is_empty());
}

#[test]
fn what_is_waited_for_is_not_asked_twice() {
    let did = continued(
        after(path_to(Transport::Paused)).lab,
        [Msg::Probe(FullBatch::AsSum), Msg::Probe(FullBatch::AsSum)],
    );
    assert_eq!(did.asked, ["probe 1"]);
    let did = continued(
        after(usable()).lab,
        [Msg::Preflight, Msg::Preflight, Msg::Fit(1), Msg::Fit(2)],
    );
    assert_eq!(did.asked, ["preflight", "fit 1"]);
}

fn waiting() -> After {
    continued(
        after(path_to(Transport::Finished)).lab,
        [Msg::Probe(FullBatch::AsSum), Msg::Preflight, Msg::Fit(2500)],
    )
}

#[test]
fn a_worker_that_dies_is_the_answer_to_all_that_waits() {
    let did = waiting();
    assert_eq!(did.asked, ["probe 1", "preflight", "fit 2500"]);
    let fault = Fault::Panicked {
        message: "boom".to_owned(),
    };
    let tools = continued(did.lab, [died()]).lab.tools;
    assert_eq!(tools.probe, Answer::Failed(fault.clone()));
    assert_eq!(tools.preflight, Answer::Failed(fault.clone()));
    assert_eq!(tools.fit, Answer::Failed(fault));
    // What was answered before stays.
    let answered = Msg::Worker(Event::Preflighted(Ok(checks(false))));
    let did = continued(after(usable()).lab, [Msg::Preflight, answered, died()]);
    assert_eq!(did.lab.tools.preflight, Answer::Done(checks(false)));
    assert_eq!(did.lab.tools.fit, Answer::None);
}

#[test]
fn another_device_takes_back_what_was_asked() {
    let did = continued(waiting().lab, [Msg::Device(DeviceChoice::Cpu)]);
    let tools = &did.lab.tools;
    assert_eq!(
        (&tools.probe, &tools.preflight, &tools.fit),
        (&Answer::None, &Answer::None, &Answer::None)
    );
}

#[test]
fn a_run_whose_worker_is_gone_cannot_be_probed() {
    let mut path = path_to(Transport::Finished);
    path.push(died());
    path.extend(usable());
    let did = continued(after(path).lab, [Msg::Probe(FullBatch::AsSum)]);
    assert!(matches!(did.lab.machine.device, DeviceState::Usable(..)));
    assert_eq!(did.lab.machine.transport, Transport::Finished);
    assert_eq!(ready::probe(&did.lab), Err(NotNow::NoRun));
    assert_eq!(did.lab.tools.probe, Answer::None);
    assert!(!did.asked.contains(&"probe 1".to_owned()));
}

#[test]
fn a_probe_ends_with_the_run_it_was_about() {
    let lab = continued(after(path_to(Transport::Paused)).lab, [Msg::Probe(FullBatch::AsSum)]).lab;
    // Replaced: the answer comes too late, and the next run may be probed.
    let did = continued(lab.clone(), [Msg::Reset, loaded(2), probed(1, 3)]);
    assert_eq!(did.lab.tools.probe, Answer::None);
    assert_eq!(asked(did.lab, Msg::Probe(FullBatch::AsSum)), ["probe 2"]);
    // Failed: its fault is the answer.
    let did = continued(lab.clone(), [fault_of(Some(1), Fault::NoSuchRun)]);
    assert_eq!(did.lab.tools.probe, Answer::Failed(Fault::NoSuchRun));
    // Going on: the answer still comes.
    let did = continued(lab, [RUN, says(1, RunState::Running), probed(1, 3)]);
    assert!(matches!(did.lab.tools.probe, Answer::Done(_)));
}

#[test]
fn the_file_that_the_draft_names_is_needed_for_them_too() {
    let wants = Draft::default().with(Key::Data, "text").with(Key::FileName, "mine.txt");
    let file = |name: &str| {
        Msg::OwnFile(Ok(OwnFile {
            name: name.to_owned(),
            text: "some text".into(),
        }))
    };
    let needed = || {
        Fault::Data(DataError::FileNeeded {
            name: "mine.txt".to_owned(),
        })
    };
    for before in [vec![], vec![file("other.txt")]] {
        let path = usable().into_iter().chain(before).chain([Msg::Replace(wants.clone())]);
        let did = continued(after(path).lab, [Msg::Preflight, Msg::Fit(1)]);
        assert!(did.asked.is_empty());
        assert_eq!(did.lab.tools.preflight, Answer::Failed(needed()));
        assert_eq!(did.lab.tools.fit, Answer::Failed(needed()));
    }
    let path = usable().into_iter().chain([file("mine.txt"), Msg::Replace(wants)]);
    let did = continued(after(path).lab, [Msg::Preflight, Msg::Fit(1)]);
    assert_eq!(did.asked, ["preflight", "fit 1"]);
}
