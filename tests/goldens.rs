//! Every golden by the engine on the CPU device in f32, at 1e-6 relative L2 of a whole gradient or parameter set, and exactly where it is
//! a sequence of scales, rates or counts. Every right or wrong variant is a convention and loop of the lab, run by a session.
//!
//! `GOLDEN_DIR=<folder> cargo test --features engine --test goldens` runs whatever files lie there.
#![cfg(all(not(target_arch = "wasm32"), feature = "engine"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a broken premise must fail its test at once"
)]
#![allow(clippy::float_cmp, reason = "rates and scales are exact")]

#[path = "support/on_device.rs"]
mod on_device;
#[path = "support/on_device_kinds.rs"]
mod on_device_kinds;
#[path = "goldens/plans.rs"]
mod plans;
#[path = "goldens/replicas.rs"]
mod replicas;
#[path = "goldens/scaler.rs"]
mod scaler;
mod support;
#[path = "goldens/updates.rs"]
mod updates;

use microbatch_lab::{batch::GroupLoss, engine::Device};
use on_device::{Data, Ended, Loop};
use support::golden::{self, list, number, numbers};

/// float32 against float64.
const TOLERANCE: f64 = 1e-6;

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

fn run(network: &golden::Network, data: &Data, how: &Loop, groups: usize) -> Vec<Ended> {
    pollster::block_on(on_device::run(&Device::flex(), network, data, how, groups))
}

#[test]
fn grad_cases() {
    let device = Device::flex();
    for golden in golden::of_kind("grad_case") {
        let compared = pollster::block_on(on_device_kinds::grad_case(
            &device,
            &golden,
            &golden.network(),
            TOLERANCE,
        ));
        assert!(compared > 0, "{}", golden.name);
    }
}

#[test]
fn optimizers() {
    let device = Device::flex();
    for golden in golden::of_kind("optimizer") {
        pollster::block_on(on_device_kinds::optimizers(
            &device,
            &golden,
            &golden.network(),
            TOLERANCE,
        ));
    }
}

#[test]
fn clipping() {
    let device = Device::flex();
    for golden in golden::of_kind("clipping") {
        pollster::block_on(on_device_kinds::clipping(
            &device,
            &golden,
            &golden.network(),
            TOLERANCE,
        ));
    }
}

#[test]
fn the_seed_example() {
    for golden in golden::of_kind("seed_example") {
        let microbatches = list(&golden.inputs()["microbatches"]).iter();
        let sums: Vec<(f64, u64)> = microbatches
            .map(|k| {
                let tokens = k["tokens"].as_u64().expect("a count");
                (number(&k["loss_mean"]) * tokens as f64, tokens)
            })
            .collect();
        let expected = golden.outputs();
        let loss = GroupLoss::from_sums(sums.iter().copied());
        let by_hand: Vec<f64> = sums.iter().map(|(sum, _)| *sum).collect();
        assert_eq!(by_hand, numbers(&expected["loss_sums"]));
        assert_eq!(Some(loss.supervised), expected["total_tokens"].as_u64());
        assert_eq!(loss.token_weighted(), Some(number(&expected["token_weighted"])));
        assert_eq!(
            loss.mean_of_means(),
            Some(number(&expected["unweighted_mean_of_means"]))
        );
    }
}
