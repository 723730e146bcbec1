//! WebGPU in a browser's dedicated worker: the self-check, kernels, goldens, and training runs, each against plain f64.

#![cfg(all(target_arch = "wasm32", feature = "worker", feature = "gpu"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a broken premise must fail its test at once"
)]

#[path = "support/bench.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod bench;
#[path = "support/golden.rs"]
#[allow(dead_code, unreachable_pub, reason = "other tests use the rest")]
mod golden;
#[path = "support/half_twins.rs"]
mod half_twins;
#[path = "support/layer_twins.rs"]
mod layer_twins;
#[path = "support/loss_twins.rs"]
mod loss_twins;
#[path = "support/on_device.rs"]
mod on_device;
#[path = "support/on_device_kinds.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod on_device_kinds;
#[path = "support/program_shapes.rs"]
mod program_shapes;
#[path = "support/program_twins.rs"]
mod program_twins;
#[path = "support/reference.rs"]
mod reference;
#[path = "support/short_run.rs"]
mod short_run;

use std::cell::RefCell;

use bench::{Bench, assert_near};
use golden::{Golden, Network};
use microbatch_lab::{
    batch::{dropout::by_example, oracle::Numerics},
    engine::{self, Advance, Device, Session, WarmUp, kernels, loss},
    protocol::FullBatch,
    setup::{Key, Named, Preset, parse::parse},
};
use wasm_bindgen_test::{console_log, wasm_bindgen_test, wasm_bindgen_test_configure};
use web_time::Instant;

wasm_bindgen_test_configure!(run_in_dedicated_worker);

/// A GPU's exp and tanh may be rough.
const GRADIENT: f64 = 1e-5;
/// Over a whole run. The CPU device is held to the same, so the two are within 1e-4 of each other.
const RUN: f64 = 2e-5;

thread_local! {
    /// One device for all tests, as a worker has.
    static DEVICE: RefCell<Option<Device>> = const { RefCell::new(None) };
}

async fn device() -> Device {
    if let Some(device) = DEVICE.with_borrow(Clone::clone) {
        return device;
    }
    engine::start::call_constructors_once();
    let (device, report) = engine::device::open_gpu().await.expect("WebGPU");
    console_log!("{report:?}");
    DEVICE.with_borrow_mut(|slot| *slot = Some(device.clone()));
    device
}

/// How many compute dispatches this worker has made since the first call.
fn launches() -> f64 {
    let counted = "(() => {
        const of = GPUComputePassEncoder.prototype;
        if (globalThis.launches === undefined) {
            globalThis.launches = 0;
            const dispatch = of.dispatchWorkgroups;
            of.dispatchWorkgroups = function (...sizes) { globalThis.launches++; return dispatch.apply(this, sizes); };
        }
        return globalThis.launches;
    })()";
    js_sys::eval(counted)
        .ok()
        .and_then(|count| count.as_f64())
        .unwrap_or(f64::NAN)
}

#[wasm_bindgen_test]
async fn the_device_passes_its_self_check() {
    let check = engine::self_check(&device().await).await.expect("computed");
    console_log!("{check:?}");
    assert!(check.passed(), "{check:?}");
}

#[wasm_bindgen_test]
async fn the_kernel_of_the_token_loss_equals_the_oracle() {
    loss_twins::equals_oracle(&device().await, "kernel", GRADIENT, kernels::token_loss::totals).await;
}

#[wasm_bindgen_test]
async fn the_twin_of_the_token_loss_equals_the_oracle() {
    loss_twins::equals_oracle(&device().await, "twin", GRADIENT, loss::reference).await;
}

#[wasm_bindgen_test]
async fn the_kernels_of_all_layers_equal_their_twins() {
    layer_twins::kernels_equal_twins(&device().await).await;
}

#[wasm_bindgen_test]
async fn lists_equal_their_networks() {
    let device = device().await;
    program_twins::compare(&device, GRADIENT).await;
    program_shapes::lists_equal_networks(&device).await;
}

fn golden(text: &str) -> Golden {
    let json: serde_json::Value = serde_json::from_str(text).expect("a golden");
    Golden {
        name: json["name"].as_str().expect("a name").to_owned(),
        kind: json["kind"].as_str().expect("a kind").to_owned(),
        json,
    }
}

fn network() -> Network {
    Network::of(&serde_json::from_str(include_str!("golden/model.json")).expect("a model"))
}

#[wasm_bindgen_test]
async fn rounding_to_half_precision_is_exact() {
    half_twins::equals_definition(&device().await, "kernel", kernels::half::half).await;
}

/// In half precision a rough tanh or exp now and then crosses a boundary between two numbers, 2^-10 apart; rounding itself changes 3e-4.
const HALF: f64 = 1e-4;

#[wasm_bindgen_test]
async fn batch_norm_dropout_and_half_precision_equal_their_oracles() {
    let device = device().await;
    for (model, batch_norm, precision) in [
        ("token_mlp", "yes", "f32"),
        ("transformer", "no", "f32"),
        ("token_mlp", "yes", "f16"),
        ("transformer", "no", "f16"),
    ] {
        let bench = Bench::new(
            &device,
            &[
                (Key::Model, model),
                (Key::BatchNorm, batch_norm),
                (Key::Precision, precision),
                (Key::Dropout, "0.25"),
                (Key::DropoutOrder, "by_example"),
            ],
        );
        let batch = bench.batch(0..5);
        let places = (0..).zip(bench.network.dropout_widths());
        let mask = |(place, width)| by_example(bench.setup.seed, 0.25, &batch, 0, place, width);
        let masks: Vec<Vec<f64>> = places.map(mask).collect();
        let half = precision == "f16";
        let ours = bench.gradient(&mut bench.numerics(1), 0, &batch, 1.0).await;
        let expected = bench.oracle(Numerics { half, masks: &masks }, &batch, 1.0);
        let what = format!("{model}, {precision}");
        assert_near(&what, &ours, &expected, if half { HALF } else { GRADIENT });
    }
}

#[wasm_bindgen_test]
async fn golden_gradients() {
    let device = device().await;
    let files = [
        include_str!("golden/c01_m2_A8_D2_uneven.json"),
        include_str!("golden/c02_m2_A8_D2_equal.json"),
        include_str!("golden/c03_m1_A4_D1_uneven.json"),
        include_str!("golden/c04_m4_A1_D1.json"),
        include_str!("golden/c05_m2_A4_D1_zero_mb.json"),
        include_str!("golden/c06_m2_A2_D4_uneven.json"),
        include_str!("golden/c07_m1_A8_D4_equal.json"),
        include_str!("golden/c08_m3_A2_D2_zero_mb_one_replica.json"),
        include_str!("golden/c09_m2_A4_D2_duplicates.json"),
        include_str!("golden/c10_m4_A2_D1_prompt_masks.json"),
        include_str!("golden/c11_m2_A3_D2_skewed_replicas.json"),
        include_str!("golden/c12_m1_A2_D4_replica_without_tokens.json"),
        include_str!("golden/c13_m8_A1_D2_uneven.json"),
        include_str!("golden/c14_m2_A4_D2_equal_replica_tokens.json"),
    ];
    for file in files {
        let golden = golden(file);
        let compared = on_device_kinds::grad_case(&device, &golden, &network(), GRADIENT).await;
        assert!(compared > 0, "{}", golden.name);
    }
}

/// AdamW by adamw_moment.wgsl and adamw_step.wgsl, whose twin is held to the same on the CPU device.
#[wasm_bindgen_test]
async fn golden_optimizers() {
    let golden = golden(include_str!("golden/optimizers.json"));
    on_device_kinds::optimizers(&device().await, &golden, &network(), GRADIENT).await;
}

#[wasm_bindgen_test]
async fn golden_clipping() {
    let golden = golden(include_str!("golden/clipping.json"));
    on_device_kinds::clipping(&device().await, &golden, &network(), GRADIENT).await;
}

#[wasm_bindgen_test]
async fn the_smallest_preset_equals_the_oracle_over_50_updates_at_two_a_second() {
    let device = device().await;
    let preset = Preset::named("smallest").expect("a preset");
    let setup = parse(&(preset.draft)().with(Key::Budget, "50")).expect("a setup");
    let began = Instant::now();
    let mut warm_up = WarmUp::new(&device, &setup, &short_run::corpus(&setup)).expect("a run");
    while let Some(progress) = warm_up.step().await.expect("computed") {
        console_log!("{progress:?} after {:.2} s", began.elapsed().as_secs_f64());
    }
    let before = launches();
    let rows = short_run::equals_oracle(&device, &setup, RUN).await;
    let each = (launches() - before) / rows.len() as f64;
    let seconds = rows.last().map_or(f64::NAN, |row| row.elapsed_ms / 1e3);
    let rate = rows.len() as f64 / seconds;
    console_log!(
        "{} updates in {seconds:.2} s, {rate:.1} a second, {each:.0} launches each",
        rows.len()
    );
    assert!(rate >= 2.0, "{rate} updates a second");
}

#[wasm_bindgen_test]
async fn the_same_setup_gives_the_same_bits() {
    let device = device().await;
    for model in ["token_mlp", "transformer"] {
        let setup = short_run::setup(&[(Key::Model, model), (Key::Budget, "3")]);
        let mut runs = Vec::new();
        for _ in 0..2 {
            let mut session = Session::new(&device, &setup, short_run::corpus(&setup)).expect("a session");
            let rows = short_run::rows(&mut session).await;
            let lanes: Vec<_> = rows.into_iter().map(|row| row.lanes).collect();
            runs.push((lanes, session.parameters().await.expect("read")));
        }
        assert_eq!(runs[0], runs[1], "{model}");
    }
}

/// What the CPU device has loops for is here done by burn's operations, and by a backward of its own for token weights.
#[wasm_bindgen_test]
async fn the_probe_foretells_the_lanes() {
    let device = device().await;
    let lanes = "token_weighted,full_batch,mean_of_means,example_mean";
    for model in ["token_mlp", "transformer"] {
        let setup = short_run::setup(&[(Key::Model, model), (Key::Lanes, lanes), (Key::Lengths, "two_humped")]);
        let mut session = Session::new(&device, &setup, short_run::corpus(&setup)).expect("a session");
        let as_sum = session.probe(FullBatch::AsSum).await.expect("computed");
        let one_pass = session.probe(FullBatch::InOnePass).await.expect("computed");
        assert_eq!(
            (as_sum.full_batch, one_pass.full_batch),
            (FullBatch::AsSum, FullBatch::InOnePass)
        );
        assert_eq!(as_sum.backwards + 1, one_pass.backwards);
        let close =
            |what: &str, a: f64, b: f64| assert!((a - b).abs() <= 1e-4 * (1.0 + b.abs()), "{model}, {what}: {a}, {b}");
        for (sum, pass) in as_sum.rows.iter().zip(&one_pass.rows) {
            let of = sum.convention.name();
            close(of, sum.gradient_norm, pass.gradient_norm);
            close(of, sum.relative_l2, pass.relative_l2);
            close(of, sum.loss, pass.loss);
        }
        let ended = loop {
            if let Advance::Updated(row) = session.advance(false).await.expect("trained") {
                break row;
            }
        };
        for (rule, lane) in setup.lanes.iter().zip(&ended.lanes) {
            let row = as_sum
                .rows
                .iter()
                .find(|row| row.convention == rule.convention)
                .expect("all are there");
            close(rule.convention.name(), row.gradient_norm, lane.gradient_norm);
        }
    }
}

#[wasm_bindgen_test]
async fn a_transformer_equals_the_oracle() {
    let setup = short_run::setup(&[
        (Key::Microbatch, "2"),
        (Key::Accumulation, "2"),
        (Key::Lanes, "token_weighted,example_mean"),
        (Key::Budget, "5"),
    ]);
    let began = Instant::now();
    let device = device().await;
    let before = launches();
    let rows = short_run::equals_oracle(&device, &setup, RUN).await;
    let each = (launches() - before) / rows.len() as f64;
    let times: Vec<f64> = rows.iter().map(|row| row.elapsed_ms).collect();
    console_log!(
        "transformer: {times:?} ms, {:.1} s in all, {each:.0} launches each",
        began.elapsed().as_secs_f64()
    );
}
