//! What is asked beside a run, and what is kept of one.
#![allow(clippy::unwrap_used, reason = "what is not there fails its test at once")]

use microbatch_lab::{
    batch::{ConventionId, Counters, ExampleId, FaultId, Faults, Unit, scaler::ScalerError},
    lab::{
        Answer, Closeness, Lab, Msg, NotNow, Progress, Recording, Repeats, Transport, cells,
        closeness::relative_l2,
        memory::{FirstAndLast, PhaseLine},
        ready, update,
        written::{Written, journal_of},
    },
    protocol::{
        AttemptRow, CellState, Event, Fault, FullBatch, GroupRow, MemoryRow, MemorySource, Outcome, Phase, PhaseBytes,
        PreflightReport, ProbeReport, RunId, ScaleRow,
    },
    setup::Key,
};

use crate::{after, continued, died, loaded, path_to, told};

fn groups(rows: Vec<GroupRow>) -> Msg {
    Msg::Worker(Event::Groups { run: RunId(1), rows })
}

fn report() -> ProbeReport {
    ProbeReport {
        group: 1,
        applied_updates: 1,
        supervised_tokens: 4,
        full_batch: FullBatch::AsSum,
        full_batch_norm: 1.0,
        rows: Vec::new(),
        noise_floor: 1e-7,
        backwards: 3,
        elapsed_ms: 2.0,
    }
}

fn probed(run: u32) -> Msg {
    Msg::Worker(Event::Probed {
        run: RunId(run),
        report: Ok(report()),
    })
}

#[test]
fn the_probe_waits_for_a_boundary_and_says_for_what() {
    let cases: &[(Transport, Result<(), NotNow>)] = &[
        (Transport::Empty, Err(NotNow::NoRun)),
        (Transport::Loading, Err(NotNow::Busy)),
        (Transport::Paused, Ok(())),
        (Transport::Running, Err(NotNow::Busy)),
        (Transport::Pausing, Err(NotNow::Busy)),
        (Transport::Finished, Ok(())),
        (Transport::Failed, Err(NotNow::NoRun)),
    ];
    for (transport, now) in cases {
        let lab = after(path_to(*transport)).lab;
        assert_eq!(ready::probe(&lab), *now, "{transport:?}");
        let did = continued(lab, [Msg::Probe(FullBatch::AsSum)]);
        assert_eq!(did.asked.len(), usize::from(now.is_ok()), "{transport:?}");
        assert_eq!(did.lab.tools.probe == Answer::Waiting, now.is_ok(), "{transport:?}");
    }
    let begun = Msg::Worker(Event::Group {
        run: RunId(1),
        plan: told::plan(0),
    });
    let mut path = path_to(Transport::Paused);
    path.push(begun);
    let inside = after(path).lab;
    assert_eq!(ready::probe(&inside), Err(NotNow::InsideGroup));
    let ended = continued(inside, [groups(vec![told::group(0)])]).lab;
    assert_eq!(ready::probe(&ended), Ok(()));
    let asked = continued(ended, [Msg::Probe(FullBatch::AsSum)]).lab;
    assert_eq!(ready::probe(&asked), Err(NotNow::Asked));
}

#[test]
fn an_answer_about_a_replaced_run_is_not_waited_for() {
    let mut path = path_to(Transport::Paused);
    path.push(Msg::Probe(FullBatch::AsSum));
    let lab = after(path).lab;
    let answered = continued(lab.clone(), [probed(1)]).lab;
    assert_eq!(answered.tools.probe, Answer::Done(report()));
    let replaced = continued(lab, [Msg::Reset, probed(1), loaded(2)]).lab;
    assert_eq!(replaced.tools.probe, Answer::None);
    assert_eq!(ready::probe(&replaced), Ok(()));
}

#[test]
fn the_draft_is_checked_by_an_idle_device_and_remembered_with_the_answer() {
    let did = after(
        path_to(Transport::Paused)
            .into_iter()
            .chain([Msg::Preflight, Msg::Fit(1 << 20)]),
    );
    assert_eq!(did.asked[did.asked.len() - 2..], ["preflight", "fit 1048576"]);
    assert_eq!(ready::preflight(&did.lab), Err(NotNow::Asked));
    assert_eq!(ready::fit(&did.lab), Err(NotNow::Asked));
    assert_eq!(did.lab.tools.checked.as_ref(), Some(&did.lab.blueprint.draft));
    assert_eq!(did.lab.tools.fitted.as_ref(), Some(&did.lab.blueprint.draft));
    let report = PreflightReport { checks: Vec::new() };
    let done = continued(did.lab.clone(), [Msg::Worker(Event::Preflighted(Ok(report.clone())))]).lab;
    assert_eq!(done.tools.preflight, Answer::Done(report));

    let stopped = continued(
        did.lab.clone(),
        [Msg::Stop, Msg::Worker(Event::Fitted(Err(Fault::Stopped)))],
    );
    assert_eq!(stopped.asked, ["stop"]);
    assert_eq!(stopped.lab.tools.fit, Answer::Failed(Fault::Stopped));
    assert_eq!(stopped.lab.machine.fault, None);
    assert!(
        continued(done.clone(), [Msg::Stop]).asked == ["stop"],
        "the fit still goes on"
    );
    let idle = continued(done, [Msg::Worker(Event::Fitted(Err(Fault::Stopped))), Msg::Stop]);
    assert!(idle.asked.is_empty(), "nothing goes on that could be stopped");

    let dead = continued(did.lab.clone(), [died()]).lab;
    assert!(matches!(dead.tools.preflight, Answer::Failed(Fault::Panicked { .. })));
    assert!(matches!(dead.tools.fit, Answer::Failed(Fault::Panicked { .. })));
    let moved = continued(did.lab, [Msg::Device(microbatch_lab::protocol::DeviceChoice::Cpu)]).lab;
    assert_eq!((moved.tools.preflight, moved.tools.fit), (Answer::None, Answer::None));

    assert_eq!(ready::preflight(&Lab::default()), Err(NotNow::NoDevice));
    assert_eq!(ready::fit(&after(path_to(Transport::Running)).lab), Err(NotNow::Busy));
    let broken = [Msg::Edit(Key::Microbatch, "0".to_owned()), Msg::Preflight, Msg::Fit(1)];
    let did = after(path_to(Transport::Paused).into_iter().chain(broken));
    assert_eq!(ready::fit(&did.lab), Err(NotNow::FormHasErrors));
    assert!(
        !did.asked
            .iter()
            .any(|asked| asked == "preflight" || asked.starts_with("fit"))
    );
}

/// One group of two lanes that ended like this; the progress of both microbatches of one of two replicas in both lanes.
fn progress(outcomes: [Outcome; 2], faults: Option<FaultId>) -> [[Progress; 2]; 2] {
    let fault = |recording: &mut Recording| {
        if let Some(id) = faults {
            recording.setup.lanes[1].faults = Faults::NONE.and(id).unwrap();
        }
    };
    progress_on(2, outcomes, fault)
}

fn progress_on(replicas: u32, outcomes: [Outcome; 2], change: impl FnOnce(&mut Recording)) -> [[Progress; 2]; 2] {
    let mut lab = after(path_to(Transport::Running)).lab;
    let recording = lab.recording.as_mut().unwrap();
    change(recording);
    let mut row = told::group(0);
    row.plan.nominal_accumulation = 2;
    row.plan.replicas = replicas;
    for (index, k) in (0..).zip(&mut row.plan.microbatches) {
        (k.facts.replica, k.facts.index) = (0, index);
    }
    for (lane, outcome) in row.lanes.iter_mut().zip(outcomes) {
        lane.outcome = outcome;
    }
    update(&mut lab, groups(vec![row]));
    let recording = lab.recording.unwrap();
    let current = recording.current.as_ref().unwrap();
    assert_eq!(cells::progress(&recording, current, 0, 2), None);
    [0, 1].map(|lane| [0, 1].map(|at| cells::progress(&recording, current, lane, at).unwrap()))
}

#[test]
fn a_cell_is_reduced_only_where_its_gradient_was_exchanged_and_applied() {
    use Progress::{Done, LeftOut, Reduced};
    let both = |outcome| progress([outcome, Outcome::Applied], None);
    assert_eq!(both(Outcome::Applied), [[Reduced; 2]; 2]);
    assert_eq!(both(Outcome::NonFiniteGradient), [[Done; 2], [Reduced; 2]]);
    assert_eq!(
        both(Outcome::Refused(ScalerError::AlreadyUnscaled)),
        [[Done; 2], [Reduced; 2]]
    );
    assert_eq!(both(Outcome::Carried), [[Done; 2], [Reduced; 2]]);
    assert_eq!(both(Outcome::Dropped), [[LeftOut; 2], [Reduced; 2]]);
    assert_eq!(both(Outcome::NoSupervisedToken), [[LeftOut; 2], [Reduced; 2]]);
    let faulty = |id| progress([Outcome::Applied; 2], Some(id))[1];
    assert_eq!(faulty(FaultId::NeverSynced), [Done; 2]);
    assert_eq!(faulty(FaultId::SyncFirstMicrobatch), [Reduced, Done]);
    assert_eq!(faulty(FaultId::SyncEachMicrobatch), [Reduced; 2]);
    // One replica has nobody to exchange with, one pass nothing.
    assert_eq!(progress_on(1, [Outcome::Applied; 2], |_| {}), [[Done; 2]; 2]);
    let whole = progress_on(2, [Outcome::Applied; 2], |recording| {
        recording.setup.lanes[1] = ConventionId::FullBatch.into();
    });
    assert_eq!(whole, [[Reduced; 2], [Done; 2]]);
}

#[test]
fn in_a_loop_that_steps_inside_each_cell_is_told_by_its_own_attempt() {
    let mut lab = after(path_to(Transport::Running)).lab;
    let recording = lab.recording.as_mut().unwrap();
    recording.setup.lanes[0].faults = Faults::NONE.and(FaultId::StepEachMicrobatch).unwrap();
    let mut row = told::group(0);
    row.plan.nominal_accumulation = 2;
    for (index, k) in (0..).zip(&mut row.plan.microbatches) {
        (k.facts.replica, k.facts.index) = (0, index);
    }
    row.lanes[0].inner = vec![AttemptRow {
        after_index: 0,
        outcome: Outcome::NonFiniteGradient,
        gradient_norm: f64::NAN,
        clip_norms: Vec::new(),
        scale: None,
        rate: 0.1,
        counters: Counters::default(),
    }];
    update(&mut lab, groups(vec![row]));
    let recording = lab.recording.unwrap();
    let current = recording.current.as_ref().unwrap();
    let told = [0, 1].map(|at| cells::progress(&recording, current, 0, at).unwrap());
    assert_eq!(told, [Progress::Done, Progress::Reduced]);
}

#[test]
fn a_group_that_changed_nothing_leaves_its_cells_unreduced_and_its_number() {
    let states = |outcome| {
        let mut row = told::group(0);
        row.lanes.iter_mut().for_each(|lane| lane.outcome = outcome);
        let mut path = path_to(Transport::Running);
        path.push(groups(vec![row, told::group(1)]));
        after(path).lab.recording.unwrap().lanes[0].not_applied.clone()
    };
    assert_eq!(states(Outcome::NonFiniteGradient), [(0, Outcome::NonFiniteGradient)]);
    assert_eq!(states(Outcome::Applied), []);
    let last = |outcome| {
        let mut row = told::group(0);
        row.lanes.iter_mut().for_each(|lane| lane.outcome = outcome);
        let mut path = path_to(Transport::Running);
        path.push(groups(vec![row]));
        after(path).lab.recording.unwrap().current.unwrap().states[0]
    };
    assert_eq!(last(Outcome::NonFiniteGradient), CellState::Done);
    assert_eq!(last(Outcome::Dropped), CellState::Waiting);
    assert_eq!(last(Outcome::Applied), CellState::Reduced);
}

#[test]
fn attempts_inside_a_group_are_recorded_one_by_one() {
    let scale = |used| ScaleRow {
        used,
        next: used / 2.0,
        growth_tracker: 0,
    };
    let inside = |attempts, outcome| AttemptRow {
        after_index: 0,
        outcome,
        gradient_norm: 1.0,
        clip_norms: Vec::new(),
        scale: Some(scale(8.0 / attempts as f64)),
        rate: 0.1,
        counters: Counters {
            update_attempts: attempts,
            ..Counters::default()
        },
    };
    let mut row = told::group(0);
    let [first, second] = &mut row.lanes[..] else {
        panic!("two lanes")
    };
    first.inner = vec![inside(1, Outcome::NonFiniteGradient), inside(2, Outcome::Applied)];
    first.outcome = Outcome::NonFiniteGradient;
    (first.counters.update_attempts, first.scale) = (3, Some(scale(2.0)));
    second.inner = vec![inside(1, Outcome::NonFiniteGradient)];
    let mut path = path_to(Transport::Running);
    path.push(groups(vec![row]));
    let recording = after(path).lab.recording.unwrap();
    let skipped = (0, Outcome::NonFiniteGradient);
    assert_eq!(recording.lanes[0].not_applied, [skipped, skipped]);
    assert_eq!(recording.lanes[1].not_applied, [skipped]);
    assert_eq!(recording.lanes[0].scale, [(1, 8.0), (2, 4.0), (3, 2.0)]);
    assert_eq!(recording.lanes[1].scale, [(1, 8.0)]);
    assert_eq!(recording.current.unwrap().states[0], CellState::Reduced);
}

#[test]
fn what_one_group_took_is_the_difference_of_the_counters() {
    let rows = [(3, 30), (4, 40), (4, 40)].map(|(all_reduces, all_reduced_bytes)| {
        let mut row = told::group(0);
        row.lanes[0].counters.all_reduces = all_reduces;
        row.lanes[0].counters.all_reduced_bytes = all_reduced_bytes;
        row
    });
    let mut path = path_to(Transport::Running);
    path.push(groups(rows.to_vec()));
    let recording = after(path).lab.recording.unwrap();
    let taken = |at| recording.taken(0, at, Unit::AllReduces);
    assert_eq!(
        [taken(0), taken(1), taken(2), taken(3)],
        [Some(3), Some(1), Some(0), None]
    );
    assert_eq!(recording.taken(0, 1, Unit::AllReducedBytes), Some(10));
}

#[test]
fn examples_in_more_than_one_place_are_counted_apart() {
    let mut plan = told::plan(0);
    plan.microbatches[0].ids = [4, 5, 6].map(ExampleId).to_vec();
    plan.microbatches[1].ids = [6, 7, 4, 4].map(ExampleId).to_vec();
    let repeats = Repeats::of(&plan);
    assert_eq!((repeats.places, repeats.unique), (7, 4));
    assert_eq!(
        repeats.repeated.into_iter().collect::<Vec<_>>(),
        [ExampleId(4), ExampleId(6)]
    );
    assert!(Repeats::of(&told::plan(0)).repeated.is_empty());
}

#[test]
fn close_is_told_by_its_bound() {
    assert_eq!(Closeness::of(1e-8, 1e-7, 1e-5), Closeness::NoiseFloor(1e-7));
    assert_eq!(Closeness::of(1e-7, 1e-7, 1e-5), Closeness::NoiseFloor(1e-7));
    assert_eq!(Closeness::of(1e-6, 1e-7, 1e-5), Closeness::Tolerance(1e-5));
    assert_eq!(Closeness::of(1e-4, 1e-7, 1e-5), Closeness::Apart);
    assert_eq!(Closeness::of(f64::NAN, 1e-7, 1e-5), Closeness::Apart);
    assert!(relative_l2(&[0.0], &[0.0]).abs() < 1e-300 && relative_l2(&[1.0], &[]).is_nan());
    assert!((relative_l2(&[3.0, 0.0], &[0.0, 4.0]) - 1.25).abs() < 1e-15);
}

#[test]
fn the_journal_of_a_replaced_run_is_still_there() {
    let mut path = path_to(Transport::Running);
    path.push(groups(vec![told::group(0), told::group(1)]));
    let lab = after(path).lab;
    let written = journal_of(lab.recording.as_ref().unwrap()).unwrap();
    // The run, then 2 groups x 2 lanes x (2 microbatches, a reduction, an attempt).
    assert_eq!(written.lines().count(), 1 + 2 * 2 * 4);
    let lab = continued(lab, [Msg::Reset]).lab;
    assert_eq!(
        journal_of(lab.recording.as_ref().unwrap()),
        None,
        "a run that is not loaded has none"
    );
    let past = lab.past.runs().next().unwrap();
    assert_eq!(past.journal.as_ref().map(Written::text), Some(written));
}

#[test]
fn memory_is_compared_between_the_first_and_the_last_measured_group() {
    let phase = |phase, replica, peak| PhaseBytes {
        phase,
        replica,
        before: 1,
        after: 2,
        peak,
    };
    let measured = |number, phases: Vec<PhaseBytes>| {
        let mut row = told::group(number);
        row.memory = Some(MemoryRow {
            source: MemorySource::Device,
            in_use: 5,
            reserved: Some(6),
            peak: 7,
            phases,
        });
        row
    };
    let mut path = path_to(Transport::Running);
    let first = vec![
        phase(Phase::Forward, Some(0), 10),
        phase(Phase::OptimizerState, None, 11),
    ];
    let last = vec![phase(Phase::Forward, Some(0), 20), phase(Phase::Forward, Some(1), 30)];
    path.push(groups(vec![
        told::group(0),
        measured(1, first),
        told::group(2),
        measured(3, last),
        told::group(4),
    ]));
    let recording = after(path).lab.recording.unwrap();
    let both = FirstAndLast::of(&recording).unwrap();
    assert_eq!((both.first.0, both.last.0), (1, 3));
    let peaks = |line: &PhaseLine| (line.first.map(|bytes| bytes.peak), line.last.map(|bytes| bytes.peak));
    let lines: Vec<_> = both
        .lines()
        .iter()
        .map(|line| (line.phase, line.replica, peaks(line)))
        .collect();
    assert_eq!(
        lines,
        [
            (Phase::Forward, Some(0), (Some(10), Some(20))),
            (Phase::OptimizerState, None, (Some(11), None)),
            (Phase::Forward, Some(1), (None, Some(30))),
        ]
    );
    let mut path = path_to(Transport::Running);
    path.push(groups(vec![told::group(0)]));
    assert_eq!(FirstAndLast::of(&after(path).lab.recording.unwrap()), None);
}
