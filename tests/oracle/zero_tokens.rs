//! A microbatch without any supervised token, and four ways to write its mean.

use microbatch_lab::batch::{
    FaultId, IGNORE_INDEX, PaddedBatch,
    empty_mean::EmptyMean,
    oracle::{Accumulation, Grads, mlp_gradient},
};

use super::{
    assert_close, assert_same, recipe,
    support::golden::{self, Case, Layout, Network, number, numbers, whole},
};

fn spelling(name: &str) -> EmptyMean {
    match name {
        "torch_reduction_mean" => recipe(&[]).empty_mean,
        "hand_masked_mean" => recipe(&[FaultId::HandMaskedMean]).empty_mean,
        // Two more that are right, which no lane needs a fault for.
        "sum_over_count" => EmptyMean::SumOverCount,
        "sum_over_max_count_1" => EmptyMean::SumOverAtLeastOne,
        unknown => panic!("unknown spelling {unknown}"),
    }
}

/// The loss of one microbatch and its gradient, its mean written as `spelled`.
fn mean(network: &Network, batch: &PaddedBatch, spelled: EmptyMean) -> (f64, Vec<f64>) {
    let count = batch.supervised();
    let supervised = |label: &i32| *label != IGNORE_INDEX;
    let weights: Vec<f64> = batch
        .labels
        .iter()
        .map(|label| spelled.weight(supervised(label), count))
        .collect();
    // A hand-written mask needs a valid label at every position.
    let label = |label: &i32| {
        if spelled.enters_ignored() {
            (*label).max(0)
        } else {
            *label
        }
    };
    let labels: Vec<i32> = batch.labels.iter().map(label).collect();
    let (losses, gradient) = mlp_gradient(network.shape, &network.parameters, &batch.tokens, &labels, &weights);
    let scored = losses
        .per_token
        .iter()
        .zip(&batch.labels)
        .filter(|(_, label)| supervised(label));
    (spelled.loss(scored.map(|(loss, _)| loss).sum(), count), gradient)
}

#[test]
fn spellings() {
    for golden in golden::of_kind("zero_tokens") {
        let (network, case) = (golden.network(), Case::of(&golden));
        let group = case.laid_out(Layout::Replicas);
        let empty = group
            .batches
            .iter()
            .find(|batch| batch.supervised() == 0)
            .expect("one is empty");
        for (name, expected) in golden.outputs().as_object().expect("spellings") {
            let what = format!("{} {name}", golden.name);
            let spelled = spelling(name);
            let alone = &expected["empty_microbatch"];
            let (loss, gradient) = mean(&network, empty, spelled);
            assert_close(loss, number(&alone["loss"]), &what);
            assert_eq!(gradient.len(), whole(&alone["grad_elements"]) as usize, "{what}");
            assert_eq!(nans(&gradient), whole(&alone["grad_nan_count"]) as usize, "{what}");
            let largest = gradient
                .iter()
                .filter(|g| g.is_finite())
                .fold(0.0f64, |max, g| max.max(g.abs()));
            assert_close(largest, number(&alone["grad_max_abs_of_finite"]), &what);

            let a = f64::from(case.accumulation);
            let mut losses = vec![0.0; case.replicas.len()];
            let mut contributions = Vec::new();
            for (k, batch) in group.facts.microbatches.iter().zip(&group.batches) {
                let (loss, gradient) = mean(&network, batch, spelled);
                losses[k.replica as usize] += loss / a;
                contributions.push(gradient.iter().map(|g| g / a).collect::<Vec<f64>>());
            }
            let ddp = &expected["ddp"];
            for (ours, golden) in losses.iter().zip(numbers(&ddp["accumulated_loss_per_rank"])) {
                assert_close(*ours, golden, &what);
            }
            let mut grads = Grads::zeros(case.replicas.len(), gradient.len());
            grads.accumulate(Accumulation::default(), &group.facts, &contributions);
            let (ours, golden) = (&grads.replicas[0], network.flat(&ddp["grad"]));
            assert_eq!(nans(ours), whole(&ddp["grad_nan_count"]) as usize, "{what}");
            assert!(
                ours.iter().zip(&golden).all(|(a, b)| a.is_nan() == b.is_nan()),
                "{what}: NaN elsewhere"
            );
            let finite = |of: &[f64]| of.iter().copied().filter(|g| g.is_finite()).collect::<Vec<f64>>();
            assert_same(&finite(ours), &finite(&golden), &what);
        }
    }
}

fn nans(gradient: &[f64]) -> usize {
    gradient.iter().filter(|g| g.is_nan()).count()
}
