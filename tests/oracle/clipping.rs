//! Clipping once after accumulation, or per microbatch in three wrong ways.

use microbatch_lab::batch::{
    ConventionId, FaultId,
    clip::ClipAt,
    oracle::{Accumulation, Grads, cosine, norm, relative_l2},
};
use serde_json::Value;

use super::{
    assert_close, assert_same, recipe,
    support::golden::{self, Group, Network, list, microbatches, number, numbers},
    train::weighted,
};

#[test]
fn policies() {
    for golden in golden::of_kind("clipping") {
        let network = golden.network();
        let group = Group::on_one_process(&[microbatches(&golden.inputs()["microbatches"])]);
        let max_norms: Vec<f64> = list(golden.outputs())
            .iter()
            .map(|case| number(&case["max_norm"]))
            .collect();
        assert_eq!(max_norms, numbers(&golden.inputs()["max_norms"]), "{}", golden.name);
        for case in list(golden.outputs()) {
            let max = number(&case["max_norm"]);
            let at = |faults| recipe(faults).clip_at;
            let run = |clip, id| run(&network, &group, clip, id);
            let correct = run(Some((ClipAt::AfterAccumulation, max)), ConventionId::TokenWeighted);
            for (policy, expected) in case.as_object().expect("policies") {
                let what = format!("{} {max} {policy}", golden.name);
                let (clip, id) = match policy.as_str() {
                    "max_norm" => continue,
                    "unclipped" => (None, ConventionId::TokenWeighted),
                    "after_accumulation" => (Some(at(&[])), ConventionId::TokenWeighted),
                    "running_grad_after_each_microbatch" => {
                        (Some(at(&[FaultId::ClipRunningGradient])), ConventionId::TokenWeighted)
                    }
                    "each_contribution_then_sum" => {
                        (Some(at(&[FaultId::ClipEachContribution])), ConventionId::TokenWeighted)
                    }
                    // Each mean is clipped, then their average taken: what is clipped has no division yet.
                    "each_mean_then_average" => (Some(at(&[FaultId::ClipEachMean])), ConventionId::NeverDivided),
                    unknown => panic!("unknown policy {unknown}"),
                };
                check(&network, &run(clip.map(|at| (at, max)), id), &correct, expected, &what);
            }
        }
    }
}

fn run(network: &Network, group: &Group, clip: Option<(ClipAt, f64)>, id: ConventionId) -> Grads {
    let mut grads = Grads::zeros(1, network.parameters.len());
    let how = Accumulation {
        clip,
        ..Accumulation::default()
    };
    grads.accumulate(how, &group.facts, &weighted(network, &network.parameters, group, id));
    grads
}

fn check(network: &Network, ours: &Grads, correct: &Grads, expected: &Value, what: &str) {
    let (grad, correct) = (&ours.replicas[0], &correct.replicas[0]);
    let expected = expected.as_object().expect("facts");
    for (key, value) in expected {
        match key.as_str() {
            "grad" => assert_same(grad, &network.flat(value), what),
            "grad_norm" | "norm_after" => assert_close(norm(grad), number(value), what),
            "total_norm" => assert_same(&ours.norms, &[number(value)], what),
            "total_norms" => assert_same(&ours.norms, &numbers(value), what),
            "vs_correct" => {
                assert_close(relative_l2(grad, correct), number(&value["rel_l2_error"]), what);
                assert_close(cosine(grad, correct), number(&value["cosine"]), what);
                assert_close(norm(grad) / norm(correct), number(&value["norm_ratio"]), what);
            }
            unknown => panic!("{what}: unknown fact {unknown}"),
        }
    }
}
