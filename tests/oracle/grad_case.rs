//! One group: each microbatch's sums, and the gradient and losses of every convention.

use microbatch_lab::batch::{
    Convention, GroupLoss, TokenWeights,
    oracle::{Contribution, combine, cosine, norm, relative_l2},
};
use serde_json::Value;

use super::{
    TOLERANCE, assert_close, assert_same,
    support::golden::{self, Case, Golden, Group, Layout, Network, VARIANTS, list, number, numbers, whole},
    train::contributions,
};

/// The losses that were back-propagated, added up on each replica.
fn accumulated(group: &Group, convention: &Convention, contributions: &[Contribution]) -> Vec<f64> {
    let mut sums = vec![0.0; group.facts.replicas as usize];
    for (k, contribution) in group.facts.microbatches.iter().zip(contributions) {
        sums[k.replica as usize] += convention.backpropagated_loss(&group.facts, k, contribution.loss_sum);
    }
    sums
}

#[test]
fn grad_cases() {
    for golden in golden::of_kind("grad_case") {
        let network = golden.network();
        let case = Case::of(&golden);
        microbatch_sums(&golden, &network, &case);
        let truth = network.flat(&golden.outputs()["variants"]["full_batch"]["grad"]);
        for (name, expected) in golden.outputs()["variants"].as_object().expect("variants") {
            variant(&golden, &network, &case, name, expected, &truth);
        }
    }
}

fn microbatch_sums(golden: &Golden, network: &Network, case: &Case) {
    let mut sums = Vec::new();
    for (d, replica) in list(&golden.outputs()["microbatches"]).iter().enumerate() {
        let group = Group::on_replicas(&[case.replicas[d].clone()], case.accumulation);
        let parts = contributions(network, &network.parameters, &group, TokenWeights::Uniform);
        for (a, expected) in list(replica).iter().enumerate() {
            let what = format!("{} microbatch {d} {a}", golden.name);
            let count = group.facts.microbatches[a].supervised;
            assert_eq!(count, u64::from(whole(&expected["count"])), "{what}");
            assert_close(parts[a].loss_sum, number(&expected["loss_sum"]), &what);
            assert_close(parts[a].loss_sum / count as f64, number(&expected["loss_mean"]), &what);
            assert_close(norm(&parts[a].gradient), number(&expected["grad_norm_of_sum"]), &what);
            sums.push((parts[a].loss_sum, count));
        }
    }
    let loss = GroupLoss::from_sums(sums);
    let expected = &golden.outputs()["loss"];
    assert_eq!(
        loss.supervised,
        u64::from(whole(&golden.json["counts"]["global"])),
        "{}",
        golden.name
    );
    assert_close(
        loss.token_weighted().unwrap_or(f64::NAN),
        number(&expected["token_weighted"]),
        &golden.name,
    );
    let ours = loss.mean_of_means().unwrap_or(f64::NAN);
    assert_close(
        ours,
        number(&expected["mean_of_means_over_microbatches_with_tokens"]),
        &golden.name,
    );
}

fn variant(golden: &Golden, network: &Network, case: &Case, name: &str, expected: &Value, truth: &[f64]) {
    let what = format!("{} {name}", golden.name);
    let (id, layout) = golden::variant(name);
    let group = case.laid_out(layout);
    let convention = Convention::of(id);
    let parts = contributions(network, &network.parameters, &group, convention.token_weights);
    let ours = combine(convention, &group.facts, &parts);

    assert_same(&ours, &network.flat(&expected["grad"]), &what);
    assert_close(norm(&ours), number(&expected["grad_norm"]), &what);
    let against = &expected["vs_full_batch_f64"];
    let error = relative_l2(&ours, truth);
    assert_close(error, number(&against["rel_l2_error"]), &what);
    assert_close(cosine(&ours, truth), number(&against["cosine"]), &what);
    assert_close(norm(&ours) / norm(truth), number(&against["norm_ratio"]), &what);
    if convention.correct {
        assert!(error <= TOLERANCE, "{what} is called correct and differs by {error:e}");
    }
    let losses = accumulated(&group, convention, &parts);
    let expected = &expected["accumulated_loss"];
    let expected = if layout == Layout::Replicas {
        numbers(expected)
    } else {
        vec![number(expected)]
    };
    assert_eq!(losses.len(), expected.len(), "{what}");
    for (ours, golden) in losses.iter().zip(expected) {
        assert_close(*ours, golden, &format!("{what} accumulated loss"));
    }
}

#[test]
fn every_variant_of_the_table_is_in_some_golden() {
    let goldens = golden::of_kind("grad_case");
    // Another folder may hold fewer cases; the project's own holds every variant.
    if std::env::var_os("GOLDEN_DIR").is_none() {
        for (name, ..) in VARIANTS {
            let seen = goldens
                .iter()
                .any(|golden| golden.outputs()["variants"].get(name).is_some());
            assert!(seen, "{name}");
        }
    }
}
