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
    engine::{self, Device, Session, loss},
    setup::{Key, PRESETS, parse::parse},
};
use wasm_bindgen_test::{console_log, wasm_bindgen_test, wasm_bindgen_test_configure};
use web_time::Instant;

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

#[wasm_bindgen_test]
async fn the_default_preset_makes_two_updates_a_second() {
    let began = Instant::now();
    let draft = (PRESETS[0].draft)().with(Key::Budget, "20");
    let setup = parse(&draft).expect("a setup");
    let mut session = Session::new(&device(), &setup, short_run::corpus(&setup)).expect("a session");
    console_log!("built after {:.3} s", began.elapsed().as_secs_f64());
    let rows = short_run::rows(&mut session).await;
    let rate = rows.len() as f64 / (rows.last().map_or(f64::NAN, |row| row.elapsed_ms) / 1e3);
    console_log!(
        "{} updates, {rate:.1} a second, the first after {:.0} ms",
        rows.len(),
        rows[0].elapsed_ms
    );
    assert!(rate >= 2.0, "{rate} updates a second");
}
