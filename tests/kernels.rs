//! The stock-operation twins of the hand-written kernels against the f64 oracle, on the CPU device. The kernels themselves are compared
//! with both in a browser (`tests/web_gpu.rs`).
#![cfg(all(not(target_arch = "wasm32"), feature = "engine"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a broken premise must fail its test at once"
)]

#[path = "support/half_twins.rs"]
mod half_twins;
#[path = "support/loss_twins.rs"]
mod loss_twins;

use microbatch_lab::engine::{Device, loss, model::layers};

#[test]
fn the_twin_of_the_token_loss_equals_the_oracle() {
    pollster::block_on(loss_twins::equals_oracle(
        &Device::flex(),
        "twin",
        1e-6,
        loss::reference,
    ));
}

#[test]
fn the_twin_of_rounding_to_half_precision_equals_its_definition() {
    pollster::block_on(half_twins::equals_definition(
        &Device::flex(),
        "twin",
        layers::twin::half,
    ));
}
