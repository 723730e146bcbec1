//! Three updates of each optimizer under several conventions, and a group without any token in between.

use microbatch_lab::batch::{
    ConventionId,
    oracle::{Optimizer, cosine, norm, relative_l2},
};
use serde_json::Value;

use super::{
    assert_close, assert_same,
    support::golden::{self, Golden, Group, Layout, Network, list, microbatches, number, whole},
    train::{Update, gradient, optimizer, train},
};

fn groups(golden: &Golden, layout: Layout) -> Vec<Group> {
    let lay_out = |group: &Value| {
        let replicas = [microbatches(group)];
        if layout == Layout::Whole {
            Group::whole(&replicas)
        } else {
            Group::on_one_process(&replicas)
        }
    };
    list(&golden.inputs()["groups"]).iter().map(lay_out).collect()
}

#[test]
fn updates() {
    for golden in golden::of_kind("optimizer") {
        let network = golden.network();
        for (group, count) in groups(&golden, Layout::OneProcess)
            .iter()
            .zip(list(&golden.json["counts"]["per_group"]))
        {
            assert_eq!(group.facts.supervised(), u64::from(whole(count)), "{}", golden.name);
        }
        for (name, variants) in golden.outputs().as_object().expect("optimizers") {
            let settings = &golden.inputs()["optimizers"][name];
            let run = |variant: &str| {
                let (id, layout) = golden::variant(variant);
                let (mut optimizer, rate) = optimizer(settings);
                train(&network, &groups(&golden, layout), id, &mut optimizer, rate)
            };
            let reference = run("full_batch");
            for (variant, expected) in variants.as_object().expect("variants") {
                let what = format!("{} {name} {variant}", golden.name);
                check(&network, &run(variant), &reference, expected, &what);
            }
        }
    }
}

fn check(network: &Network, updates: &[Update], reference: &[Update], expected: &Value, what: &str) {
    let steps = list(&expected["per_update"]);
    assert_eq!(steps.len(), updates.len(), "{what}");
    for (ours, golden) in updates.iter().zip(steps) {
        assert_close(norm(&ours.gradient), number(&golden["grad_norm"]), what);
        if golden.get("params").is_some() {
            assert_same(&ours.parameters, &network.flat(&golden["params"]), what);
        }
    }
    let last = |updates: &[Update]| updates.last().expect("some").parameters.clone();
    let (ours, theirs) = (last(updates), last(reference));
    assert_close(
        relative_l2(&ours, &theirs),
        number(&expected["final_params_rel_l2_vs_full_batch"]),
        what,
    );
    let moved = |to: &[f64]| {
        to.iter()
            .zip(&network.parameters)
            .map(|(to, from)| to - from)
            .collect::<Vec<f64>>()
    };
    let (ours, theirs) = (moved(&ours), moved(&theirs));
    let displacement = &expected["total_displacement_vs_full_batch"];
    assert_close(cosine(&ours, &theirs), number(&displacement["cosine"]), what);
    assert_close(norm(&ours) / norm(&theirs), number(&displacement["norm_ratio"]), what);
    assert_close(relative_l2(&ours, &theirs), number(&displacement["rel_l2_error"]), what);
}

/// The second group has no token. The lab skips it; a loop that steps with a zero gradient moves by momentum and decay.
#[test]
fn a_group_without_tokens() {
    for golden in golden::of_kind("optimizer") {
        let network = golden.network();
        let groups = groups(&golden, Layout::OneProcess);
        let Some(expected) = golden.json["outputs"].get("empty_group_at_update_2_f64") else {
            continue;
        };
        for (name, ways) in expected.as_object().expect("optimizers") {
            for (way, expected) in ways.as_object().expect("ways") {
                let what = format!("{} {name} {way}", golden.name);
                let (mut optimizer, rate) = optimizer(&golden.inputs()["optimizers"][name]);
                let mut parameters = network.parameters.clone();
                apply(&network, &groups[0], &mut parameters, &mut optimizer, rate);
                let before = parameters.clone();
                match way.as_str() {
                    "step_with_zero_grad" => optimizer.apply(&mut parameters, &vec![0.0; before.len()], rate),
                    "step_with_none_grad" | "skip_step" => {}
                    unknown => panic!("unknown way {unknown}"),
                }
                let movement: Vec<f64> = parameters.iter().zip(&before).map(|(to, from)| to - from).collect();
                assert_close(norm(&movement), number(&expected["movement_norm_at_update_2"]), &what);
                assert_same(&parameters, &network.flat(&expected["params_after_update_2"]), &what);
                apply(&network, &groups[2], &mut parameters, &mut optimizer, rate);
                assert_same(&parameters, &network.flat(&expected["params_after_update_3"]), &what);
            }
        }
    }
}

fn apply(network: &Network, group: &Group, parameters: &mut [f64], optimizer: &mut Optimizer, rate: f64) {
    let gradient = gradient(network, parameters, group, ConventionId::TokenWeighted);
    optimizer.apply(parameters, &gradient, rate);
}
