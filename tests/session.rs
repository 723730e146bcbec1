//! What a host of the engine relies on: known losses, progress, and a run that may be watched or not at any time.

#![cfg(all(not(target_arch = "wasm32"), feature = "engine"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a broken premise must fail its test at once"
)]

#[path = "support/reference.rs"]
#[allow(dead_code, reason = "other tests use it")]
mod reference;
#[path = "support/short_run.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod short_run;

use microbatch_lab::{
    batch::IGNORE_INDEX,
    engine::{Advance, Device, Session, WarmUp, check, self_check},
    protocol::{Fault, GroupRow, Preparation, SelfCheck},
    setup::{Draft, Key, PRESETS, Preset, Setup, parse::parse},
};
use pollster::block_on;
use short_run::{corpus, setup};

fn preset(name: &str) -> Draft {
    (Preset::named(name).expect("a preset").draft)()
}

fn session(setup: &Setup) -> Session {
    Session::new(&Device::flex(), setup, corpus(setup)).unwrap()
}

#[test]
fn known_losses_make_the_first_group_measure_3_5_against_3() {
    let setup = parse(&preset("512_1536").with(Key::Budget, "1")).unwrap();
    let rows = block_on(short_run::rows(&mut session(&setup)));
    let loss = rows[0].lanes[0].loss;
    assert_eq!((loss.supervised, loss.means), (2048, 2));
    let near = |ours: Option<f64>, expected: f64| (ours.unwrap() - expected).abs() < 1e-5;
    assert!(near(loss.token_weighted(), 3.5), "{loss:?}");
    assert!(near(loss.mean_of_means(), 3.0), "{loss:?}");
}

#[test]
fn every_preset_trains() {
    for preset in PRESETS {
        let draft = (preset.draft)()
            .with(Key::Budget, "2")
            .with(Key::BudgetUnit, "applied_updates");
        let setup = parse(&draft).unwrap();
        let rows = block_on(short_run::rows(&mut session(&setup)));
        assert_eq!(rows.len(), 2, "{}", preset.name);
        for lane in rows.iter().flat_map(|row| &row.lanes) {
            assert!(
                lane.loss.loss_sum.is_finite() && lane.gradient_norm > 0.0,
                "{}: {lane:?}",
                preset.name
            );
        }
    }
}

#[test]
fn warming_up_counts_to_its_end() {
    let setup = setup(&[(Key::Model, "token_mlp")]);
    let mut warm_up = WarmUp::new(&Device::flex(), &setup, &corpus(&setup)).unwrap();
    let mut seen = Vec::new();
    while let Some(Preparation::CompilingKernels { done, total }) = block_on(warm_up.step()).unwrap() {
        seen.push((done, total));
    }
    // Two microbatches on each of two replicas, a forward and a backward each, and the update.
    assert_eq!(seen, (1..=9).map(|done| (done, 9)).collect::<Vec<_>>());
    assert_eq!(block_on(warm_up.step()).unwrap(), None);
}

/// What burn's operations do may take other kernels for other shapes.
#[test]
fn without_a_list_a_whole_group_is_warmed_up() {
    let setup = setup(&[(Key::Model, "token_mlp"), (Key::Precision, "f16")]);
    let mut warm_up = WarmUp::new(&Device::flex(), &setup, &corpus(&setup)).unwrap();
    let first = block_on(warm_up.step()).unwrap();
    // 8 microbatches, a forward and a backward each, and the update.
    assert_eq!(first, Some(Preparation::CompilingKernels { done: 1, total: 17 }));
}

#[test]
fn watching_may_begin_and_end_at_any_time() {
    let setup = setup(&[(Key::Model, "token_mlp"), (Key::Budget, "4")]);
    let plain = block_on(short_run::rows(&mut session(&setup)));
    let mut watched = session(&setup);
    let mut rows: Vec<GroupRow> = Vec::new();
    for call in 0.. {
        match block_on(watched.advance(call % 3 == 0)).unwrap() {
            Advance::Updated(row) => rows.push(*row),
            Advance::Finished => break,
            Advance::Began(_) | Advance::Microbatch(_) => {}
        }
    }
    let lanes = |rows: &[GroupRow]| rows.iter().map(|row| row.lanes.clone()).collect::<Vec<_>>();
    assert_eq!(lanes(&rows), lanes(&plain));
}

#[test]
fn a_device_that_computes_rightly_is_used_and_any_other_is_refused() {
    let good = block_on(self_check(&Device::flex())).unwrap();
    assert!(good.passed() && check::refusal(&good).is_none(), "{good:?}");
    for bad in [
        SelfCheck {
            gradient_error: 1e-3,
            ..good.clone()
        },
        SelfCheck {
            loss_error: f64::NAN,
            ..good
        },
    ] {
        assert!(check::refusal(&bad).is_some(), "{bad:?}");
    }
}

#[test]
fn a_watched_microbatch_counts_its_unique_examples_at_once() {
    let mut session = session(&parse(&preset("sort_uneven")).unwrap());
    let watched = loop {
        if let Advance::Microbatch(rows) = block_on(session.advance(true)).unwrap()
            && let Some(watched) = rows.first().and_then(|row| row.lanes.first())
        {
            break watched.counters;
        }
    };
    assert_eq!(
        (watched.microbatches, watched.examples, watched.unique_examples),
        (1, 2, 2)
    );
}

#[test]
fn a_run_that_changes_nothing_ends_by_name() {
    let setup = setup(&[(Key::Model, "token_mlp")]);
    let mut masked = corpus(&setup);
    for example in &mut masked.examples {
        example.labels.fill(IGNORE_INDEX);
    }
    let mut session = Session::new(&Device::flex(), &setup, masked.clone()).unwrap();
    let nothing = Fault::NothingApplies {
        groups: session.facts().groups_per_epoch + 1,
    };
    let ended = loop {
        match block_on(session.advance(false)) {
            Ok(Advance::Finished) => panic!("a budget of applied updates was reached without one"),
            Ok(_) => {}
            Err(fault) => break fault,
        }
    };
    assert_eq!(ended, nothing);
    let mut warm_up = WarmUp::new(&Device::flex(), &setup, &masked).unwrap();
    assert_eq!(block_on(warm_up.step()), Err(nothing));
}
