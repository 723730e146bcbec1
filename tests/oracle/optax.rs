//! optax.MultiSteps averages what it is fed; optax.apply_every sums finished updates.

use microbatch_lab::batch::{
    ConventionId,
    oracle::{norm, relative_l2},
};
use serde_json::Value;

use super::{
    assert_close, assert_same,
    support::golden::{self, Group, Network, list, number},
    train::{Update, groups, optimizer, train, weighted},
};

#[test]
fn multisteps() {
    for golden in golden::of_kind("optax_multisteps") {
        let (network, groups) = (golden.network(), groups(&golden));
        for (name, ways) in golden.outputs().as_object().expect("optimizers") {
            let settings = &golden.inputs()["optimizers"][name];
            let run = |id| {
                let (mut optimizer, rate) = optimizer(settings);
                train(&network, &groups, id, &mut optimizer, rate)
            };
            let means = run(ConventionId::MeanOfMeans);
            for (way, expected) in ways.as_object().expect("ways") {
                let what = format!("{} {name} {way}", golden.name);
                match way.as_str() {
                    "multisteps_mean_loss" => check(&network, &means, expected, &what),
                    "multisteps_token_weighted" => {
                        check(&network, &run(ConventionId::TokenWeighted), expected, &what);
                    }
                    "chain_then_apply_every_mean_loss" => {
                        let ours = apply_every(&network, &groups, settings);
                        check(&network, &ours, expected, &what);
                        let ratio = norm(&moved(&network, &ours)) / norm(&moved(&network, &means));
                        assert_close(
                            ratio,
                            number(&expected["displacement_norm_ratio_vs_mean_of_means"]),
                            &what,
                        );
                    }
                    // An accumulator of another precision, and another library's schedule: nothing of the lab's.
                    "default_float32_accumulator_rel_l2_params" | "schedule_inside_multisteps" => {}
                    unknown => panic!("unknown way {unknown}"),
                }
            }
        }
        let (mut sgd, rate) = optimizer(&golden.inputs()["optimizers"]["sgd"]);
        let never = train(&network, &groups, ConventionId::NeverDivided, &mut sgd, rate);
        let every = apply_every(&network, &groups, &golden.inputs()["optimizers"]["sgd"]);
        let (never, every) = (never.last().expect("some"), every.last().expect("some"));
        let error = relative_l2(&every.parameters, &never.parameters);
        assert!(
            error < 1e-12,
            "with plain SGD, summed updates are never divided: {error:e}"
        );
    }
}

/// The optimizer runs on every microbatch's mean, at parameters that stand still until the group ends.
fn apply_every(network: &Network, groups: &[Group], settings: &Value) -> Vec<Update> {
    let (mut optimizer, rate) = optimizer(settings);
    let mut parameters = network.parameters.clone();
    let mut updates = Vec::new();
    for group in groups {
        let mut sum = vec![0.0; parameters.len()];
        for mean in weighted(network, &parameters, group, ConventionId::NeverDivided) {
            let mut ahead = parameters.clone();
            optimizer.apply(&mut ahead, &mean, rate);
            for ((sum, to), from) in sum.iter_mut().zip(&ahead).zip(&parameters) {
                *sum += to - from;
            }
        }
        for (p, by) in parameters.iter_mut().zip(&sum) {
            *p += by;
        }
        updates.push(Update {
            gradient: sum,
            parameters: parameters.clone(),
        });
    }
    updates
}

fn moved(network: &Network, updates: &[Update]) -> Vec<f64> {
    let last = &updates.last().expect("some").parameters;
    last.iter()
        .zip(&network.parameters)
        .map(|(to, from)| to - from)
        .collect()
}

fn check(network: &Network, updates: &[Update], expected: &Value, what: &str) {
    let steps = list(&expected["per_update"]);
    assert_eq!(steps.len(), updates.len(), "{what}");
    for (ours, golden) in updates.iter().zip(steps) {
        assert_same(&ours.parameters, &network.flat(&golden["params"]), what);
    }
}
