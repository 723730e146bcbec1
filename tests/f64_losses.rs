//! What is compared in `docs/speed.md`, trained in plain f64: losses that no sum in float32 has touched. They are stored, since the larger
//! works take minutes:
//!
//! ```text
//! cargo test --release --test f64_losses -- --ignored --nocapture
//! ```
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::expect_used, reason = "a broken premise must fail its test at once")]

#[path = "../src/bin/bench/work.rs"]
#[allow(dead_code, reason = "the bench page uses the rest")]
mod work;

use std::collections::BTreeMap;

use microbatch_lab::{
    batch::{
        Example, PaddedBatch,
        oracle::{AdamW, Optimizer, transformer_gradient},
    },
    protocol::Fixture,
};
use work::Work;

const STORED: &str = include_str!("../bench/f64-losses.json");

/// As they are stored: ten digits after the point.
const TOLERANCE: f64 = 1e-9;

/// Losses of the first updates of a work: the sum over all its supervised tokens, divided by their number; then AdamW.
fn losses(name: &str, updates: u32) -> Vec<f64> {
    let work = Work::named(name).expect("a work");
    let (start, examples) = (
        work.start().flatten().collect(),
        work.batches(updates).flatten().collect(),
    );
    let Fixture {
        setup, start, examples, ..
    } = work.fixture(start, examples, "token_weighted").expect("a setup");
    let group = examples.len() / updates as usize;
    let mut parameters: Vec<f64> = start.into_iter().map(f64::from).collect();
    let mut optimizer = Optimizer::AdamW(AdamW::new(0.9, 0.999, 1e-8, 0.01));
    let microbatch = setup.split.microbatch.get() as usize;
    let mut losses = Vec::new();
    for examples in examples.chunks(group) {
        let tokens: u64 = examples.iter().map(Example::supervised).sum();
        let (mut sum, mut gradient) = (0.0, vec![0.0; parameters.len()]);
        for examples in examples.chunks(microbatch) {
            let batch = PaddedBatch::new(&examples.iter().collect::<Vec<_>>());
            let weights: Vec<f64> = batch
                .labels
                .iter()
                .map(|&label| f64::from(u8::from(label >= 0)))
                .collect();
            let (of, slopes) = transformer_gradient(
                work.shape,
                &parameters,
                batch.width,
                &batch.tokens,
                &batch.labels,
                &weights,
            );
            sum += of.sum;
            gradient.iter_mut().zip(slopes).for_each(|(sum, slope)| *sum += slope);
        }
        for sum in &mut gradient {
            *sum /= tokens as f64;
        }
        losses.push(sum / tokens as f64);
        optimizer.apply(&mut parameters, &gradient, 1e-3);
    }
    losses
}

fn equal_what_is_stored(name: &str) {
    let stored: BTreeMap<String, Vec<f64>> = serde_json::from_str(STORED).expect("a list for each work");
    let stored = &stored[name];
    let ours = losses(name, u32::try_from(stored.len()).expect("a few"));
    println!("\"{name}\": {ours:.10?}");
    for (ours, stored) in ours.iter().zip(stored) {
        assert!((ours - stored).abs() <= TOLERANCE, "{name}: {ours} against {stored}");
    }
}

#[test]
fn w0() {
    equal_what_is_stored("W0");
}

#[test]
#[ignore = "a minute, optimised"]
fn w1() {
    equal_what_is_stored("W1");
}

#[test]
#[ignore = "minutes, optimised"]
fn w2() {
    equal_what_is_stored("W2");
}
