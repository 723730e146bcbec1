//! What is asked beside a run, and the panels that are closed until they are wanted.

use microbatch_lab::{
    batch::{ConventionId, ExampleId},
    lab::{Lab, Msg, msg::Effect},
    protocol::{
        AttemptRow, BatchNormRow, CheckKind, Command, Event, Fault, FitReport, FitTry, FittingSplit, FullBatch,
        GroupRow, MemoryRow, MemorySource, Outcome, Phase, PhaseBytes, PreflightCheck, PreflightReport, ProbeReport,
        ProbeRow, ReplicaSpread, RunId, RunState, ScaleRow,
    },
    setup::Key,
};
use wasm_bindgen::JsCast;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::harness::{Mounted, known_group, mount, report_known_group, rest, settle};

const MIB: u64 = 1 << 20;

/// A page with the run of a known group on it, under a form changed like this.
async fn page_with(edits: &[(Key, &str)]) -> Mounted {
    let page = mount(Lab::default());
    settle().await;
    page.button("512 tokens at 2, 1,536 at 4").click();
    let edits = edits.iter().map(|(key, text)| Msg::Edit(*key, (*text).to_owned()));
    page.store.dispatch_all(edits);
    report_known_group(page.store);
    settle().await;
    page
}

/// Opens the panel whose heading has this ID.
async fn open(page: &Mounted, id: &str) {
    let panel = page.one(&format!("section:has(> details #{id}) > details"));
    panel.set_attribute("open", "").unwrap();
    // The browser tells of it in a task of its own.
    rest(30).await;
    settle().await;
}

fn text_of(page: &Mounted, id: &str) -> String {
    page.text(&format!("section:has(> details #{id})"))
}

fn says(page: &Mounted, id: &str, texts: &[&str]) {
    let whole = text_of(page, id);
    for text in texts {
        assert!(whole.contains(text), "{text} in {whole}");
    }
}

fn tell(page: &Mounted, event: Event) {
    page.store.dispatch(Msg::Worker(event));
}

/// One more group, changed like this.
fn group(page: &Mounted, number: u64, change: impl FnOnce(&mut GroupRow)) {
    let mut row = known_group();
    row.plan.number = number;
    change(&mut row);
    let rows = vec![row];
    tell(page, Event::Groups { run: RunId(1), rows });
}

fn disabled(page: &Mounted, name: &str) -> bool {
    page.button(name).has_attribute("disabled")
}

fn asked(page: &Mounted, is: impl Fn(&Command) -> bool) -> usize {
    let effects = page.effects.borrow();
    let sent = effects
        .iter()
        .filter(|effect| matches!(effect, Effect::Send(command) if is(command)));
    sent.count()
}

#[wasm_bindgen_test]
async fn closed_panels_hold_nothing() {
    let page = page_with(&[]).await;
    assert!(page.all(".fold").len() >= 7 && page.all(".fold-body").is_empty());
    open(&page, "memory-title").await;
    assert_eq!(page.all(".fold-body").len(), 1);
    says(&page, "memory-title", &["Nothing is measured"]);
}

/// One within the noise floor, one within the tolerance, one apart.
fn three_conventions() -> ProbeReport {
    let row = |convention, relative_l2, loss| ProbeRow {
        convention,
        gradient_norm: 2.0,
        cosine: 0.75,
        relative_l2,
        norm_ratio: 0.5,
        loss,
        loss_ratio: 0.25,
    };
    ProbeReport {
        group: 1,
        applied_updates: 1,
        supervised_tokens: 2048,
        full_batch: FullBatch::AsSum,
        full_batch_norm: 1.25,
        rows: vec![
            row(ConventionId::TokenWeighted, 1e-8, 3.5),
            row(ConventionId::FullBatch, 1e-6, 3.5),
            row(ConventionId::MeanOfMeans, 0.5, f64::NAN),
        ],
        noise_floor: 1e-7,
        backwards: 3,
        elapsed_ms: 12.0,
    }
}

#[wasm_bindgen_test]
async fn all_conventions_are_compared_at_a_boundary_and_none_is_called_identical() {
    const ASK: &str = "Compare all conventions here";
    let page = page_with(&[]).await;
    open(&page, "probe-title").await;
    assert!(!disabled(&page, ASK));
    let run = RunId(1);
    tell(
        &page,
        Event::State {
            run,
            state: RunState::Running,
        },
    );
    settle().await;
    assert!(disabled(&page, ASK));
    says(&page, "probe-title", &["Pause first"]);
    tell(
        &page,
        Event::State {
            run,
            state: RunState::Paused,
        },
    );
    settle().await;
    page.button(ASK).click();
    settle().await;
    assert_eq!(
        asked(&page, |command| *command
            == Command::Probe {
                run,
                full_batch: FullBatch::AsSum
            }),
        1
    );
    assert!(disabled(&page, ASK));
    tell(
        &page,
        Event::Probed {
            run,
            report: Ok(three_conventions()),
        },
    );
    settle().await;
    says(
        &page,
        "probe-title",
        &[
            "Group 2",
            "applied updates before it: 1",
            "N = 2048",
            "backwards: 3, in 12 ms",
        ],
    );
    let rows: Vec<String> = page
        .all(".probe tbody tr")
        .iter()
        .map(|row| row.text_content().unwrap())
        .collect();
    assert_eq!(rows.len(), 3);
    let expected = [
        ["Token-weighted", "✓ right", "within the float noise floor (1.0e-7)"],
        [
            "Full batch, as the sum",
            "✓ right",
            "within the tolerance you set (1.0e-5)",
        ],
        ["Mean of microbatch means", "M / A", "apart"],
    ];
    for (row, texts) in rows.iter().zip(expected) {
        for text in texts {
            assert!(row.contains(text), "{text} in {row}");
        }
    }
    let cells = page.all(".probe tbody tr")[2].children();
    let second = cells.item(1).and_then(|cell| cell.text_content());
    assert_eq!(second.as_deref(), Some("apart"), "the verdict stands beside the name");
    says(&page, "probe-title", &["The full batch is the sum"]);
    // In one pass only where that is asked for.
    page.all(".fold .choice input")[0]
        .clone()
        .unchecked_into::<web_sys::HtmlElement>()
        .click();
    settle().await;
    page.button(ASK).click();
    settle().await;
    let in_one_pass = Command::Probe {
        run,
        full_batch: FullBatch::InOnePass,
    };
    assert_eq!(asked(&page, |command| *command == in_one_pass), 1);
    assert!(!text_of(&page, "probe-title").contains("identical"));
    page.store.dispatch(Msg::Probe(FullBatch::AsSum));
    tell(
        &page,
        Event::Probed {
            run,
            report: Err(Fault::InsideGroup),
        },
    );
    settle().await;
    assert_eq!(page.all(".fold .failed").len(), 1);
}

#[wasm_bindgen_test]
async fn a_check_lists_what_was_measured_and_names_a_cause_of_each_failure() {
    let page = page_with(&[]).await;
    open(&page, "preflight-title").await;
    page.button("Check before a campaign").click();
    settle().await;
    assert_eq!(asked(&page, |command| matches!(command, Command::Preflight { .. })), 1);
    let check = |kind, lane, measured: f64, passed| PreflightCheck {
        kind,
        lane,
        measured,
        expected: 0.0,
        tolerance: 1e-5,
        passed,
    };
    let report = PreflightReport {
        checks: vec![
            check(CheckKind::FiniteGradients, None, 0.0, true),
            check(CheckKind::FullBatchAgreement, Some(1), 0.25, false),
        ],
    };
    tell(&page, Event::Preflighted(Ok(report)));
    settle().await;
    says(
        &page,
        "preflight-title",
        &[
            "Failed: 1 of 2.",
            "FAIL",
            "0.25",
            "Mean of microbatch means",
            "weighs tokens by their microbatch",
        ],
    );
    assert_eq!(page.all(".preflight .hint-cause").len(), 1);
    assert!(!text_of(&page, "preflight-title").contains("has changed"));
    page.type_into("A: ", "7").await;
    says(&page, "preflight-title", &["The form has changed since."]);
    tell(&page, Event::Preflighted(Ok(PreflightReport { checks: Vec::new() })));
    settle().await;
    says(&page, "preflight-title", &["No check was made"]);
}

#[wasm_bindgen_test]
async fn sizes_are_told_as_they_are_tried_and_the_largest_goes_into_the_form() {
    let page = page_with(&[]).await;
    open(&page, "fit-title").await;
    page.type_into("Bytes allowed", "0").await;
    assert!(disabled(&page, "Find the largest m"));
    page.type_into("Bytes allowed", "64").await;
    page.button("Find the largest m").click();
    settle().await;
    assert_eq!(
        asked(
            &page,
            |command| matches!(command, Command::Fit { limit, .. } if *limit == 64 * MIB)
        ),
        1
    );
    let tried = |microbatch, fits| FitTry {
        microbatch,
        peak: u64::from(microbatch) * 10 * MIB,
        fits,
    };
    tell(&page, Event::FitTried(tried(4, true)));
    tell(&page, Event::FitTried(tried(8, false)));
    settle().await;
    says(
        &page,
        "fit-title",
        &[
            "m = 4: 40 MiB at most in use, fits",
            "m = 8: 80 MiB at most in use, too much",
        ],
    );
    page.button("Stop").click();
    settle().await;
    assert_eq!(asked(&page, |command| *command == Command::Stop), 1);
    let split = FittingSplit {
        microbatch: 4,
        accumulation: 3,
        replicas: 2,
        remainder: 2,
    };
    let report = FitReport {
        limit: 64 * MIB,
        target: 26,
        tries: vec![tried(4, true), tried(8, false)],
        split: Some(split),
    };
    tell(&page, Event::Fitted(Ok(report)));
    settle().await;
    says(&page, "fit-title", &["4 × 3 × 2 = 24", "fewer examples, by 2"]);
    page.button("Put m and A into the form").click();
    settle().await;
    let typed = |key| page.store.peek(|lab| lab.blueprint.draft.get(key).to_owned());
    assert_eq!(
        (typed(Key::Microbatch), typed(Key::Accumulation)),
        ("4".to_owned(), "3".to_owned())
    );
}

#[wasm_bindgen_test]
async fn memory_stands_side_by_side_for_the_first_and_the_last_group() {
    let page = page_with(&[]).await;
    open(&page, "memory-title").await;
    let measured = |peak: u64| {
        Some(MemoryRow {
            source: MemorySource::Allocator,
            phases: vec![PhaseBytes {
                phase: Phase::Backward,
                replica: Some(0),
                before: 4 * MIB,
                after: 5 * MIB,
                peak: peak * MIB,
            }],
            in_use: 6 * MIB,
            reserved: Some(32 * MIB),
            peak: peak * MIB,
        })
    };
    group(&page, 1, |row| row.memory = measured(9));
    group(&page, 2, |row| row.memory = measured(12));
    settle().await;
    says(
        &page,
        "memory-title",
        &[
            "Counted by the worker's allocator",
            "Group 2",
            "Group 3 (last)",
            "not promised",
            "32 MiB",
        ],
    );
    let line = page.text(".memory tbody tr");
    assert!(line.contains("Backward, replica 1"), "{line}");
    assert!(
        line.contains("9 MiB (+5 MiB)") && line.contains("12 MiB (+8 MiB)"),
        "{line}"
    );
    assert_eq!(page.all("#memory-chart").len(), 1);
}

#[wasm_bindgen_test]
async fn a_loss_scale_opens_its_panel_and_skipped_attempts_are_named() {
    let page = page_with(&[(Key::LossScale, "dynamic")]).await;
    rest(30).await;
    settle().await;
    group(&page, 1, |row| {
        row.lanes[0].outcome = Outcome::NonFiniteGradient;
        row.lanes[0].counters.update_attempts = 2;
        row.lanes[0].scale = Some(ScaleRow {
            used: 65536.0,
            next: 32768.0,
            growth_tracker: 3,
        });
    });
    settle().await;
    says(
        &page,
        "scaler-title",
        &["65\u{202f}536", "32\u{202f}768", "1 (groups 2)", "Learning rate used"],
    );
    assert_eq!(page.all("#scale-chart").len(), 1);
    // Nothing of a skipped update counts as reduced.
    assert_eq!(page.all(".cell[data-state='done']").len(), 2);
    assert!(page.text(".outcome").contains("not finite"));
}

#[wasm_bindgen_test]
async fn an_attempt_inside_a_group_is_counted_and_named() {
    let page = page_with(&[(Key::LossScale, "dynamic")]).await;
    rest(30).await;
    settle().await;
    group(&page, 1, |row| {
        let lane = &mut row.lanes[0];
        let scale = |used, next| ScaleRow {
            used,
            next,
            growth_tracker: 0,
        };
        lane.inner = vec![AttemptRow {
            after_index: 0,
            outcome: Outcome::NonFiniteGradient,
            gradient_norm: f64::INFINITY,
            clip_norms: Vec::new(),
            scale: Some(scale(65536.0, 32768.0)),
            rate: 0.1,
            counters: lane.counters,
        }];
        lane.counters.update_attempts += 1;
        lane.scale = Some(scale(32768.0, 32768.0));
    });
    settle().await;
    says(&page, "scaler-title", &["1 (groups 2)"]);
    let outcome = page.text(".outcome");
    assert!(
        outcome.contains("1 of 2 attempts") && outcome.contains("not finite"),
        "{outcome}"
    );
}

#[wasm_bindgen_test]
async fn exchanges_clip_log_and_running_statistics_are_told_by_lane() {
    let edits = [
        (Key::ClipNorm, "1"),
        (Key::BatchNorm, "yes"),
        (Key::Lanes, "token_weighted,token_weighted+log_divided_twice"),
    ];
    let page = page_with(&edits).await;
    open(&page, "communication-title").await;
    group(&page, 1, |row| {
        for (lane, mean) in row.lanes.iter_mut().zip([1.0, 2.0]) {
            lane.counters.all_reduces = 3;
            lane.counters.all_reduced_bytes = 6144;
            lane.clip_norms = vec![4.0, 2.0];
            lane.batch_norm = Some(BatchNormRow {
                batches: 4,
                running_mean: vec![mean],
                running_var: vec![1.0],
            });
        }
        row.lanes[1].logged_loss = 1.75;
        row.lanes[1].replicas = ReplicaSpread::Parted { largest: 0.125 };
    });
    settle().await;
    says(
        &page,
        "communication-title",
        &[
            "6 KiB",
            "in step",
            "apart by up to 0.125",
            "4 × 0.25\n2 × 0.5",
            "on replica 1",
            "within the tolerance you set",
            "differ by −1.75",
        ],
    );
    says(
        &page,
        "communication-title",
        &["Batches seen", "beyond the tolerance you set"],
    );
}

#[wasm_bindgen_test]
async fn repeated_examples_are_marked_and_what_was_dropped_is_not_reduced() {
    let page = page_with(&[]).await;
    group(&page, 1, |row| {
        row.plan.microbatches[1].ids = vec![ExampleId(0)];
        row.lanes[0].outcome = Outcome::Dropped;
    });
    settle().await;
    let panel = page.text(".grid-panel");
    for text in [
        "Unique examples: 1 in 2 places",
        "in more than one place (↻): 1",
        "↻0",
        "not computed",
    ] {
        assert!(panel.contains(text), "{text} in {panel}");
    }
    assert!(page.all(".cell[data-state='reduced']").is_empty());
    assert_eq!(page.all(".cell[data-state='left-out']").len(), 2);
    assert!(!page.text(".outcome").is_empty());
}

#[wasm_bindgen_test]
async fn a_replaced_run_keeps_its_journal() {
    let page = page_with(&[]).await;
    page.store.dispatch(Msg::Reset);
    settle().await;
    assert!(!disabled(&page, "Journal of run 1 (.jsonl)"));
    assert!(page.text(".journal-panel").contains("from 0 in the journal"));
    page.type_into("Learning rate", "0.5").await;
    let past = page.text(".past-panel li");
    assert!(past.contains("The form now differs in Learning rate: "), "{past}");
}
