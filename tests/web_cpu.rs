//! The CPU device in a browser's dedicated worker, against plain f64.

#![cfg(all(target_arch = "wasm32", feature = "worker", feature = "cpu"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a broken premise must fail its test at once"
)]

#[path = "support/loss_twins.rs"]
mod loss_twins;
#[path = "support/reference.rs"]
mod reference;
#[path = "support/short_run.rs"]
mod short_run;

use microbatch_lab::{
    engine::{self, Device, loss},
    setup::Key,
};
use wasm_bindgen_test::{console_log, wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_dedicated_worker);

/// Over a whole run; WebGPU is held to the same, so the two are within 1e-4 of each other.
const RUN: f64 = 2e-5;

fn device() -> Device {
    engine::start::call_constructors_once();
    engine::device::open_cpu().0
}

#[wasm_bindgen_test]
async fn the_device_passes_its_self_check() {
    let check = engine::self_check(&device()).await.expect("computed");
    console_log!("{check:?}");
    assert!(check.passed(), "{check:?}");
}

#[wasm_bindgen_test]
async fn the_twin_of_the_token_loss_equals_the_oracle() {
    loss_twins::equals_oracle(&device(), "twin", 1e-6, loss::reference).await;
}

#[wasm_bindgen_test]
async fn both_models_equal_the_oracle() {
    for model in ["token_mlp", "transformer"] {
        let rows = short_run::equals_oracle(&device(), &short_run::setup(&[(Key::Model, model)]), RUN).await;
        let seconds = rows.last().map_or(f64::NAN, |row| row.elapsed_ms / 1e3);
        console_log!("{model}: {} updates in {seconds:.3} s", rows.len());
    }
}
