//! Kinds of golden that every device is held to.

use microbatch_lab::{
    batch::{
        ConventionId, FaultId, Pass,
        oracle::{cosine, norm, relative_l2},
    },
    engine::Device,
    setup::{Optimizer, types::ADAMW_EPS},
};
use serde_json::Value;

use super::{
    golden::{self, Case, Golden, Layout, Network, list, microbatches, number, numbers},
    on_device::{Data, Ended, Loop, assert_number, assert_set, run},
};

/// Every variant's gradient, norms and losses. Gives how many variants there were.
pub(crate) async fn grad_case(device: &Device, golden: &Golden, network: &Network, tolerance: f64) -> usize {
    let case = Case::of(golden);
    let variants = golden.outputs()["variants"].as_object().expect("variants");
    let truth = network.flat(&variants["full_batch"]["grad"]);
    for (name, expected) in variants {
        let what = format!("{} {name}", golden.name);
        let (id, layout) = golden::variant(name);
        let data = Data::of_replicas(&case.replicas, layout != Layout::Replicas);
        let ended = run(device, network, &data, &Loop::new(id, &[], 0.1), 1).await.remove(0);
        let row = ended.row();
        if layout != Layout::Whole {
            assert_eq!(ended.group.plan.facts(), case.laid_out(layout).facts, "{what}");
        }
        for gradient in &ended.gradients {
            assert_set(gradient, &network.flat(&expected["grad"]), tolerance, &what);
        }
        let (ours, against) = (&ended.gradients[0], &expected["vs_full_batch_f64"]);
        assert_number(row.gradient_norm, number(&expected["grad_norm"]), tolerance, &what);
        let error = relative_l2(ours, &truth);
        assert_number(error, number(&against["rel_l2_error"]), tolerance, &what);
        assert_number(cosine(ours, &truth), number(&against["cosine"]), tolerance, &what);
        assert_number(
            norm(ours) / norm(&truth),
            number(&against["norm_ratio"]),
            tolerance,
            &what,
        );
        logged(row.logged_loss, &expected["accumulated_loss"], tolerance, &what);
        // However a convention weighs the tokens, the plain sums are reported.
        let microbatches = list(&golden.outputs()["microbatches"]).iter().flat_map(list);
        let sum: f64 = microbatches.map(|k| number(&k["loss_sum"])).sum();
        assert_number(row.loss.loss_sum, sum, tolerance, &what);
    }
    variants.len()
}

/// What the loop logs is what it back-propagated, averaged over ranks.
pub(crate) fn logged(ours: f64, accumulated: &Value, tolerance: f64, what: &str) {
    let ranks = if accumulated.is_array() {
        numbers(accumulated)
    } else {
        vec![number(accumulated)]
    };
    let mean = ranks.iter().sum::<f64>() / ranks.len() as f64;
    assert_number(ours, mean, tolerance, &format!("{what}, logged loss"));
}

/// The optimizer of a golden's settings, at its rate.
pub(crate) fn with_optimizer(convention: ConventionId, settings: &Value) -> Loop {
    let betas = settings
        .get("betas")
        .map(numbers)
        .or_else(|| settings.get("b1").map(|b1| vec![number(b1), number(&settings["b2"])]));
    let optimizer = match betas.as_deref() {
        Some(&[beta1, beta2]) => {
            assert!((number(&settings["eps"]) - ADAMW_EPS).abs() < 1e-20);
            Optimizer::AdamW {
                beta1,
                beta2,
                weight_decay: number(&settings["weight_decay"]),
            }
        }
        _ => Optimizer::Sgd {
            momentum: settings.get("momentum").map_or(0.0, number),
        },
    };
    Loop {
        optimizer,
        ..Loop::new(convention, &[], number(&settings["lr"]))
    }
}

pub(crate) fn groups(golden: &Golden) -> Data {
    let groups: Vec<_> = list(&golden.inputs()["groups"]).iter().map(microbatches).collect();
    Data::of_groups(&groups)
}

/// Parameters after each update, and how far from the full batch every convention ends.
pub(crate) async fn optimizers(device: &Device, golden: &Golden, network: &Network, tolerance: f64) {
    let data = groups(golden);
    for (name, variants) in golden.outputs().as_object().expect("optimizers") {
        let settings = &golden.inputs()["optimizers"][name];
        let variants = variants.as_object().expect("variants");
        let mut runs = Vec::new();
        for (variant, expected) in variants {
            let (id, _) = golden::variant(variant);
            let updates = list(&expected["per_update"]);
            let ended = run(device, network, &data, &with_optimizer(id, settings), updates.len()).await;
            let what = format!("{} {name} {variant}", golden.name);
            for (ours, step) in ended.iter().zip(updates) {
                let slack = norm(&ours.gradients[0]).max(1.0);
                assert_number(
                    ours.row().gradient_norm / slack,
                    number(&step["grad_norm"]) / slack,
                    tolerance,
                    &what,
                );
                if step.get("params").is_some() {
                    assert_set(&ours.parameters[0], &network.flat(&step["params"]), tolerance, &what);
                }
            }
            runs.push((id, what, expected, ended.last().expect("some").parameters[0].clone()));
        }
        let whole =
            |(id, ..): &&(ConventionId, _, _, _)| microbatch_lab::batch::Convention::of(*id).pass == Pass::Whole;
        let truth = &runs.iter().find(whole).expect("full_batch").3;
        for (_, what, expected, last) in &runs {
            let expected_error = number(&expected["final_params_rel_l2_vs_full_batch"]);
            assert_number(relative_l2(last, truth), expected_error, 2.0 * tolerance, what);
            // How far parameters moved is a small part of them, so its relative error is larger.
            let moved = |to: &[f64]| {
                to.iter()
                    .zip(&network.parameters)
                    .map(|(to, from)| to - from)
                    .collect::<Vec<f64>>()
            };
            let (ours, theirs) = (moved(last), moved(truth));
            let slack = tolerance * norm(truth) / norm(&theirs) * 4.0;
            let displacement = &expected["total_displacement_vs_full_batch"];
            assert_number(cosine(&ours, &theirs), number(&displacement["cosine"]), slack, what);
            assert_number(
                norm(&ours) / norm(&theirs),
                number(&displacement["norm_ratio"]),
                slack,
                what,
            );
            assert_number(
                relative_l2(&ours, &theirs),
                number(&displacement["rel_l2_error"]),
                slack,
                what,
            );
        }
    }
}

/// Clipping once after accumulation, or per microbatch in three wrong ways.
pub(crate) async fn clipping(device: &Device, golden: &Golden, network: &Network, tolerance: f64) {
    let data = Data::of_groups(&[microbatches(&golden.inputs()["microbatches"])]);
    for case in list(golden.outputs()) {
        let max = number(&case["max_norm"]);
        let correct = network.flat(&case["after_accumulation"]["grad"]);
        for (policy, expected) in case.as_object().expect("policies") {
            let weighted = ConventionId::TokenWeighted;
            let (clip_norm, id, faults): (_, _, &[FaultId]) = match policy.as_str() {
                "max_norm" => continue,
                "unclipped" => (None, weighted, &[]),
                "after_accumulation" => (Some(max), weighted, &[]),
                "running_grad_after_each_microbatch" => (Some(max), weighted, &[FaultId::ClipRunningGradient]),
                "each_contribution_then_sum" => (Some(max), weighted, &[FaultId::ClipEachContribution]),
                "each_mean_then_average" => (Some(max), ConventionId::MeanOfMeans, &[FaultId::ClipEachMean]),
                unknown => panic!("unknown policy {unknown}"),
            };
            let how = Loop {
                clip_norm,
                ..Loop::new(id, faults, 0.1)
            };
            let ended = run(device, network, &data, &how, 1).await.remove(0);
            let what = format!("{} {max} {policy}", golden.name);
            clipped(network, &ended, &correct, expected, tolerance, &what);
        }
    }
}

fn clipped(network: &Network, ended: &Ended, correct: &[f64], expected: &Value, tolerance: f64, what: &str) {
    let grad = &ended.gradients[0];
    for (key, value) in expected.as_object().expect("facts") {
        match key.as_str() {
            "grad" => assert_set(grad, &network.flat(value), tolerance, what),
            "grad_norm" | "norm_after" => assert_number(norm(grad), number(value), tolerance, what),
            "total_norm" => assert_set(&ended.row().clip_norms, &[number(value)], tolerance, what),
            "total_norms" => assert_set(&ended.row().clip_norms, &numbers(value), tolerance, what),
            "vs_correct" => {
                assert_number(
                    relative_l2(grad, correct),
                    number(&value["rel_l2_error"]),
                    2.0 * tolerance,
                    what,
                );
                assert_number(cosine(grad, correct), number(&value["cosine"]), tolerance, what);
                assert_number(
                    norm(grad) / norm(correct),
                    number(&value["norm_ratio"]),
                    tolerance,
                    what,
                );
            }
            unknown => panic!("{what}: unknown fact {unknown}"),
        }
    }
}
