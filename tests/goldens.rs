//! Every golden gradient twice: by the f64 oracle at 1e-12, and by the engine on the CPU device in f32 at 1e-6, both as the relative L2
//! error of the whole gradient. The engine computes it on its own way: lane, replicas, coefficients, reduction.
//!
//! `GOLDEN_DIR=<folder> cargo test --features engine --test goldens` runs whatever grad_case files lie there.
#![cfg(all(not(target_arch = "wasm32"), feature = "engine"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a broken premise must fail its test at once"
)]

#[path = "support/on_device.rs"]
mod on_device;
mod support;

use microbatch_lab::{
    batch::{
        Convention, GroupLoss, PaddedBatch,
        oracle::{Contribution, combine, mlp_gradient, relative_l2, token_weights},
    },
    engine::Device,
};
use support::golden::{self, Case, Golden, Group, list, number, numbers};

/// float64 against float64: only the order of summation differs.
const ORACLE: f64 = 1e-12;
/// float32 against float64.
const ENGINE: f64 = 1e-6;

#[test]
fn every_golden_gradient() {
    let device = Device::flex();
    let mut compared = 0;
    for golden in golden::of_kind("grad_case") {
        let network = golden.network();
        let case = Case::of(&golden);
        for (name, expected) in golden.outputs()["variants"].as_object().expect("variants") {
            let what = format!("{} {name}", golden.name);
            let (id, layout) = golden::variant(name);
            let (convention, group) = (Convention::of(id), case.laid_out(layout));
            let expected = network.flat(&expected["grad"]);

            let by_oracle = oracle(&network, convention, &group);
            let error = relative_l2(&combine(convention, &group.facts, &by_oracle), &expected);
            assert!(error <= ORACLE, "{what}, oracle: relative L2 {error:e}");

            let (gradient, sums) = pollster::block_on(on_device::gradient(&device, &network, convention, &group));
            let error = relative_l2(&gradient, &expected);
            assert!(error <= ENGINE, "{what}, engine: relative L2 {error:e}");
            plain_sums(&golden, &group, &sums, &what);
            compared += 1;
        }
    }
    assert!(compared > 0, "no variant was compared");
}

fn oracle(network: &golden::Network, convention: &Convention, group: &Group) -> Vec<Contribution> {
    let one = |batch: &PaddedBatch| {
        let weights = token_weights(convention.token_weights, batch);
        let (losses, gradient) = mlp_gradient(
            network.shape,
            &network.parameters,
            &batch.tokens,
            &batch.labels,
            &weights,
        );
        Contribution {
            loss_sum: losses.sum,
            gradient,
        }
    };
    group.batches.iter().map(one).collect()
}

/// However a convention weighs the tokens, the engine reports the plain sums.
fn plain_sums(golden: &Golden, group: &Group, sums: &[f64], what: &str) {
    let microbatches = list(&golden.outputs()["microbatches"]).iter().flat_map(list);
    let expected: f64 = microbatches.map(|k| number(&k["loss_sum"])).sum();
    let ours: f64 = sums.iter().sum();
    assert_eq!(sums.len(), group.batches.len(), "{what}");
    assert!(
        (ours - expected).abs() <= ENGINE * expected,
        "{what}: loss sum {ours} against {expected}"
    );
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
