//! Replicas: which backwards exchange gradients, and a microbatch without any token.

use burn::tensor::{Tensor, TensorData};
use microbatch_lab::{
    batch::{
        ConventionId, FaultId, PaddedBatch, Recipe,
        empty_mean::EmptyMean,
        no_sync::SyncMode,
        oracle::{Accumulation, Grads, cosine, mlp_gradient, norm, relative_l2},
    },
    engine::{Device, gradient::Forward, microbatch::Microbatch, model, readback::read},
    protocol::{Outcome, ReplicaSpread},
};

use super::{
    TOLERANCE,
    on_device::{Data, Loop, assert_number, assert_set},
    on_device_kinds::logged,
    run,
    support::golden::{self, Case, Layout, Network, list, number, whole},
};

#[test]
fn no_sync() {
    for golden in golden::of_kind("ddp_no_sync") {
        let (network, case) = (golden.network(), Case::of(&golden));
        let data = Data::of_replicas(&case.replicas, false);
        let rate = number(&golden.inputs()["sgd_lr"]);
        let truth = network.flat(&golden.outputs()["full_batch"]["grad"]);
        for (name, expected) in golden.outputs().as_object().expect("modes") {
            let faults: &[FaultId] = match name.as_str() {
                "full_batch" => continue,
                "no_sync_proper" => &[],
                "sync_every_microbatch" => &[FaultId::SyncEachMicrobatch],
                "forward_outside_no_sync" => &[FaultId::ForwardOutsideNoSync],
                "last_also_in_no_sync" => &[FaultId::NeverSynced],
                "all_forward_inside_backward_outside" => &[FaultId::ForwardInsideNoSync],
                "last_forward_inside_backward_outside" => &[FaultId::LastForwardInsideNoSync],
                "last_forward_outside_backward_inside" => &[FaultId::LastForwardOutsideNoSync],
                "single_backward_of_summed_losses" => &[FaultId::SingleBackward],
                unknown => panic!("unknown mode {unknown}"),
            };
            let what = format!("{} {name}", golden.name);
            let how = Loop::new(ConventionId::TokenWeighted, faults, rate);
            let ended = run(&network, &data, &how, 1).remove(0);
            let counters = ended.row().counters;
            for exchanges in list(&expected["allreduces_per_rank"]) {
                assert_eq!(counters.all_reduces, u64::from(whole(exchanges)), "{what}");
            }
            let bytes = counters.all_reduces * 4 * network.parameters.len() as u64;
            assert_eq!(counters.all_reduced_bytes, bytes, "{what}");
            let single = faults == [FaultId::SingleBackward];
            let backwards = if single {
                case.replicas.len()
            } else {
                ended.group.plan.microbatches.len()
            };
            assert_eq!(counters.backwards, backwards as u64, "{what}");

            let identical = expected["ranks_bit_identical"] == true;
            assert_eq!(
                ended.gradients.iter().all(|g| *g == ended.gradients[0]),
                identical,
                "{what}"
            );
            for (rank, against) in list(&expected["vs_full_batch_per_rank"]).iter().enumerate() {
                let ours = &ended.gradients[rank];
                let golden = expected.get("grad").unwrap_or(&expected["grad_per_rank"][rank]);
                assert_set(ours, &network.flat(golden), TOLERANCE, &what);
                assert_number(
                    relative_l2(ours, &truth),
                    number(&against["rel_l2_error"]),
                    TOLERANCE,
                    &what,
                );
                assert_number(cosine(ours, &truth), number(&against["cosine"]), TOLERANCE, &what);
                assert_number(
                    norm(ours) / norm(&truth),
                    number(&against["norm_ratio"]),
                    TOLERANCE,
                    &what,
                );
            }
            // The golden's spread is that of any two ranks.
            let spread = number(&expected["params_max_abs_spread_across_ranks_after_sgd"]);
            match ended.row().replicas {
                ReplicaSpread::InStep => assert_eq!(spread, 0.0, "{what}"),
                ReplicaSpread::Parted { largest } => {
                    assert!(!identical, "{what}");
                    assert_number(largest, spread, TOLERANCE, &what);
                }
            }
        }
    }
}

/// An exchange one microbatch too early, as the oracle computes it: no golden has it.
#[test]
fn sync_on_the_first_microbatch_parts_the_replicas() {
    for golden in golden::of_kind("ddp_no_sync") {
        let (network, case) = (golden.network(), Case::of(&golden));
        let group = case.laid_out(Layout::Replicas);
        let factor = case.replicas.len() as f64 / group.facts.supervised() as f64;
        let contribution = |batch: &PaddedBatch| {
            let weights = vec![factor; batch.labels.len()];
            mlp_gradient(
                network.shape,
                &network.parameters,
                &batch.tokens,
                &batch.labels,
                &weights,
            )
            .1
        };
        let contributions: Vec<_> = group.batches.iter().map(contribution).collect();
        let mut grads = Grads::zeros(case.replicas.len(), network.parameters.len());
        let how = Accumulation {
            sync: SyncMode::FirstMicrobatch,
            ..Accumulation::default()
        };
        grads.accumulate(how, &group.facts, &contributions);

        let data = Data::of_replicas(&case.replicas, false);
        let how = Loop::new(ConventionId::TokenWeighted, &[FaultId::SyncFirstMicrobatch], 0.1);
        let ended = run(&network, &data, &how, 1).remove(0);
        for (ours, expected) in ended.gradients.iter().zip(&grads.replicas) {
            assert_set(ours, expected, TOLERANCE, &golden.name);
        }
        assert_eq!(ended.row().counters.all_reduces, 1);
        assert!(matches!(ended.row().replicas, ReplicaSpread::Parted { largest } if largest > 1e-4));
    }
}

#[test]
fn means_of_no_token() {
    for golden in golden::of_kind("zero_tokens") {
        let (network, case) = (golden.network(), Case::of(&golden));
        let data = Data::of_replicas(&case.replicas, false);
        for (name, expected) in golden.outputs().as_object().expect("spellings") {
            let what = format!("{} {name}", golden.name);
            let empty_mean = match name.as_str() {
                "torch_reduction_mean" => EmptyMean::Reduction,
                "sum_over_count" => EmptyMean::SumOverCount,
                "hand_masked_mean" => EmptyMean::HandMasked,
                "sum_over_max_count_1" => EmptyMean::SumOverAtLeastOne,
                unknown => panic!("unknown spelling {unknown}"),
            };
            let mut how = Loop::new(ConventionId::MeanOfMeans, &[], 0.1);
            if empty_mean == EmptyMean::HandMasked {
                how = Loop::new(ConventionId::MeanOfMeans, &[FaultId::HandMaskedMean], 0.1);
                let alone = empty_alone(&network, &case);
                let expected = &expected["empty_microbatch"];
                assert_eq!(nans(&alone), whole(&expected["grad_nan_count"]) as usize, "{what}");
                assert!(alone.iter().all(|g| g.is_nan() || *g == 0.0), "{what}");
            } else {
                // Three spellings of which none does harm: no fault names them.
                how.recipe = Some(Recipe {
                    empty_mean,
                    ..Recipe::default()
                });
            }
            let ended = run(&network, &data, &how, 1).remove(0);
            let (ours, ddp) = (&ended.gradients[0], &expected["ddp"]);
            let theirs = network.flat(&ddp["grad"]);
            assert_eq!(nans(ours), whole(&ddp["grad_nan_count"]) as usize, "{what}");
            assert!(
                ours.iter().zip(&theirs).all(|(a, b)| a.is_nan() == b.is_nan()),
                "{what}"
            );
            let finite = |of: &[f64]| of.iter().copied().filter(|g| g.is_finite()).collect::<Vec<f64>>();
            assert_set(&finite(ours), &finite(&theirs), TOLERANCE, &what);
            logged(
                ended.row().logged_loss,
                &ddp["accumulated_loss_per_rank"],
                TOLERANCE,
                &what,
            );
            let outcome = if nans(ours) > 0 {
                Outcome::NonFiniteGradient
            } else {
                Outcome::Applied
            };
            assert_eq!(ended.row().outcome, outcome, "{what}");
        }
    }
}

fn nans(gradient: &[f64]) -> usize {
    gradient.iter().filter(|g| g.is_nan()).count()
}

/// The gradient of the golden's empty microbatch, its mean written by hand.
fn empty_alone(network: &Network, case: &Case) -> Vec<f64> {
    let device = Device::flex();
    let empty = case.replicas.iter().flatten().find(|batch| batch.supervised() == 0);
    let microbatch = Microbatch::new(&device, empty.expect("one is empty").clone());
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the goldens' float32 is their float64, rounded"
    )]
    let start: Vec<f32> = network.parameters.iter().map(|&x| x as f32).collect();
    let length = start.len();
    let start = Tensor::<1>::from_data(TensorData::new(start, [length]), &device);
    let forward = Forward::of_nothing(&model::Network::TokenMlp(network.shape), &start, &microbatch);
    let gradient = pollster::block_on(read(&forward.backward())).expect("read");
    gradient.into_iter().map(f64::from).collect()
}
