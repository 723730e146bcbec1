//! Half precision, BatchNorm and dropout on the CPU device against their f64 oracles and goldens.
#![cfg(all(not(target_arch = "wasm32"), feature = "engine"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a broken premise must fail its test at once"
)]

mod batch_norm;
#[path = "../support/bench.rs"]
mod bench;
mod dropout;
mod half;
#[path = "../support/reference.rs"]
#[allow(dead_code, reason = "other tests use it")]
mod reference;
#[path = "../support/short_run.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod short_run;
#[path = "../support/mod.rs"]
mod support;

use bench::Bench;
use microbatch_lab::{
    batch::PaddedBatch,
    engine::{Device, numerics::Numerics},
    setup::Key,
};

/// On the CPU device.
fn bench(changes: &[(Key, &str)]) -> Bench {
    Bench::new(&Device::flex(), changes)
}

/// See [`Bench::gradient`].
fn gradient(bench: &Bench, numerics: &mut Numerics, replica: u32, batch: &PaddedBatch, factor: f64) -> Vec<f64> {
    pollster::block_on(bench.gradient(numerics, replica, batch, factor))
}
