//! Messages as bytes.

use microbatch_lab::{
    batch::{ConventionId, scaler::ScalerError},
    bridge::wire,
    protocol::{
        CheckKind, Command, Event, Fault, FitReport, FitTry, FittingSplit, FullBatch, MemoryRow, MemorySource, Outcome,
        Phase, PhaseBytes, PreflightCheck, PreflightReport, ProbeReport, ProbeRow, RunState,
    },
    setup::{Draft, Key, Setup, parse::parse},
};

use super::{
    RUN,
    worker::{load, load_fixture},
};

fn arrives(command: &Command) {
    let bytes = wire::encode_command(command).expect("bytes");
    assert_eq!(wire::decode_command(&bytes).as_ref(), Ok(command));
}

fn told(events: &[Event]) {
    let bytes = wire::encode_events(events).expect("bytes");
    assert_eq!(wire::decode_events(&bytes).as_deref(), Ok(events));
}

/// An experiment with something in every part of the recipe.
fn full() -> Box<Setup> {
    let texts = [
        (Key::Model, "token_mlp"),
        (Key::Schedule, "cosine_warmup_decay"),
        (Key::ScheduleUnit, "supervised_tokens"),
        (Key::WarmupStart, "zero"),
        (Key::ClipNorm, "1"),
        (Key::Precision, "f16"),
        (Key::LossScale, "dynamic"),
        (Key::InjectInf, "3:1:1, 4:2:2"),
        (Key::Dropout, "0.1"),
        (Key::DropoutOrder, "by_example"),
        (Key::BatchNorm, "yes"),
        (Key::BatchNormMomentum, "cumulative"),
        (Key::SamplerPadding, "yes"),
        (
            Key::Lanes,
            "token_weighted, mean_of_means+never_synced+clip_before_unscale, two_denominators+graph_retained",
        ),
    ];
    let with = |draft: Draft, (key, text): (Key, &str)| draft.with(key, text);
    Box::new(parse(&texts.into_iter().fold(Draft::default(), with)).expect("a setup"))
}

#[test]
fn messages_arrive_as_they_were_sent_and_broken_ones_are_refused() {
    told(&[
        Event::Ready { version: 7 },
        Event::State {
            run: RUN,
            state: RunState::Finished,
        },
    ]);
    let command = load(3);
    arrives(&command);
    let bytes = wire::encode_command(&command).expect("bytes");
    let longer = [bytes.as_slice(), &[0]].concat();
    for broken in [&bytes[..bytes.len() - 1], &longer, &[250, 1, 2]] {
        assert!(matches!(wire::decode_command(broken), Err(Fault::Unreachable { .. })));
    }
}

#[test]
fn the_whole_recipe_arrives() {
    let own_text = Some("ab\ncd".to_owned());
    arrives(&Command::Load {
        run: RUN,
        setup: full(),
        own_text: own_text.clone(),
    });
    arrives(&Command::Preflight {
        setup: full(),
        own_text: own_text.clone(),
    });
    arrives(&Command::Fit {
        setup: full(),
        own_text,
        limit: u64::MAX,
    });
    arrives(&load_fixture(1));
    arrives(&Command::Probe {
        run: RUN,
        full_batch: FullBatch::AsSum,
    });
    arrives(&Command::Stop);
}

/// Faults travel by name, so a message that puts two into one place cannot become a lane.
#[test]
fn two_faults_of_one_place_never_arrive() {
    let json = serde_json::to_string(&*full()).expect("json");
    assert!(serde_json::from_str::<Setup>(&json).is_ok());
    let excluded = json.replace(r#""never_synced""#, r#""never_synced","single_backward""#);
    assert_ne!(excluded, json);
    assert!(serde_json::from_str::<Setup>(&excluded).is_err());
}

#[test]
fn answers_arrive() {
    let row = ProbeRow {
        convention: ConventionId::TwoDenominators,
        gradient_norm: 0.5,
        cosine: -0.25,
        relative_l2: 1e-9,
        norm_ratio: 2.0,
        loss: f64::INFINITY,
        loss_ratio: 1.0,
    };
    let probe = ProbeReport {
        group: 3,
        applied_updates: 2,
        supervised_tokens: 100,
        full_batch: FullBatch::AsSum,
        full_batch_norm: 0.25,
        rows: vec![row],
        noise_floor: 1e-8,
        backwards: 9,
        elapsed_ms: 12.5,
    };
    let check = PreflightCheck {
        kind: CheckKind::OracleAgreement,
        lane: Some(1),
        measured: 1e-7,
        expected: 0.0,
        tolerance: 1e-6,
        passed: true,
    };
    let tried = FitTry {
        microbatch: 4,
        peak: 1 << 40,
        fits: false,
    };
    let fit = FitReport {
        limit: 1 << 20,
        target: 64,
        tries: vec![tried],
        split: Some(FittingSplit {
            microbatch: 3,
            accumulation: 10,
            replicas: 2,
            remainder: 4,
        }),
    };
    told(&[
        Event::Probed {
            run: RUN,
            report: Ok(probe),
        },
        Event::Probed {
            run: RUN,
            report: Err(Fault::InsideGroup),
        },
        Event::Preflighted(Ok(PreflightReport { checks: vec![check] })),
        Event::Preflighted(Err(Fault::BatchNormNeedsTwo)),
        Event::FitTried(tried),
        Event::Fitted(Ok(fit)),
        Event::Fitted(Err(Fault::MemoryLimit {
            in_use: 2,
            limit: 1,
            group: 5,
        })),
    ]);
}

#[test]
fn bytes_and_outcomes_are_stored_by_name() {
    let row = MemoryRow {
        source: MemorySource::Allocator,
        phases: vec![PhaseBytes {
            phase: Phase::OptimizerState,
            replica: Some(1),
            before: 1,
            after: 2,
            peak: 3,
        }],
        in_use: 2,
        reserved: Some(4),
        peak: 3,
    };
    let stored = serde_json::to_value(&row).expect("json");
    assert_eq!(
        (&stored["source"], &stored["phases"][0]["phase"]),
        (&"allocator".into(), &"optimizer_state".into())
    );
    assert_eq!(serde_json::from_value::<MemoryRow>(stored).expect("a row"), row);
    let refused = Outcome::Refused(ScalerError::AlreadyUnscaled);
    let stored = serde_json::to_value(refused).expect("json");
    assert_eq!(serde_json::from_value::<Outcome>(stored).expect("an outcome"), refused);
}
