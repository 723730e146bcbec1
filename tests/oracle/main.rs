//! The f64 oracle against what real PyTorch computed, at a relative L2 error of 1e-12: one module a kind of golden.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::expect_used, reason = "a broken file must fail its test at once")]
#![allow(clippy::float_cmp, reason = "signs, rates and scales are exact")]

#[path = "../support/mod.rs"]
mod support;

mod batch_norm;
mod clipping;
mod factorization;
mod finite_differences;
mod grad_case;
mod grad_scaler;
mod no_sync;
mod optax;
mod optimizers;
mod partial_group;
mod schedule;
mod seed_example;
mod train;
mod zero_grad;
mod zero_tokens;

use microbatch_lab::batch::{FaultId, Faults, Recipe, oracle::relative_l2};
use support::golden;

/// float64 against float64: only the order of summation differs.
const TOLERANCE: f64 = 1e-12;

/// The lab's own loop with these faults in it: what goes wrong in a golden is a row of the lab's table, not code of a test.
fn recipe(faults: &[FaultId]) -> Recipe {
    Recipe::with(Faults::try_from(faults.to_vec()).expect("of different places"))
}

/// Relative where there is something to be relative to; NaN agrees with NaN alone.
fn assert_close(ours: f64, golden: f64, what: &str) {
    let close = match golden {
        golden if golden.is_nan() => ours.is_nan(),
        golden if golden.is_infinite() => ours.is_infinite() && ours.signum() == golden.signum(),
        golden => (ours - golden).abs() <= TOLERANCE * golden.abs().max(1.0),
    };
    assert!(close, "{what}: {ours} against {golden}");
}

fn assert_same(ours: &[f64], golden: &[f64], what: &str) {
    assert_eq!(ours.len(), golden.len(), "{what}");
    let error = relative_l2(ours, golden);
    assert!(error <= TOLERANCE, "{what}: relative L2 {error:e}");
}

#[test]
fn every_golden_is_of_a_known_kind() {
    for golden in golden::all() {
        assert!(
            golden::KINDS.contains(&golden.kind.as_str()),
            "{} is of unknown kind {}",
            golden.name,
            golden.kind
        );
    }
}
