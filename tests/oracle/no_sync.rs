//! Which backwards exchange gradients, and what the replicas then hold.

use microbatch_lab::batch::{
    ConventionId, FaultId, GroupFacts, MicrobatchFacts,
    oracle::{Accumulation, Grads, cosine, norm, relative_l2},
};

use super::{
    assert_close, assert_same, recipe,
    support::golden::{self, Case, Layout, list, number, whole},
    train::{gradient, weighted},
};

/// Which fault of the lab a mode is.
fn faults(mode: &str) -> &'static [FaultId] {
    match mode {
        "no_sync_proper" => &[],
        "sync_every_microbatch" => &[FaultId::SyncEachMicrobatch],
        "forward_outside_no_sync" => &[FaultId::ForwardOutsideNoSync],
        "last_also_in_no_sync" => &[FaultId::NeverSynced],
        "all_forward_inside_backward_outside" => &[FaultId::ForwardInsideNoSync],
        "last_forward_inside_backward_outside" => &[FaultId::LastForwardInsideNoSync],
        "last_forward_outside_backward_inside" => &[FaultId::LastForwardOutsideNoSync],
        "single_backward_of_summed_losses" => &[FaultId::SingleBackward],
        unknown => panic!("unknown mode {unknown}"),
    }
}

#[test]
fn modes() {
    for golden in golden::of_kind("ddp_no_sync") {
        let (network, case) = (golden.network(), Case::of(&golden));
        let group = case.laid_out(Layout::Replicas);
        let rate = number(&golden.inputs()["sgd_lr"]);
        let truth = gradient(
            &network,
            &network.parameters,
            &case.laid_out(Layout::Whole),
            ConventionId::FullBatch,
        );
        for (name, expected) in golden.outputs().as_object().expect("modes") {
            let what = format!("{} {name}", golden.name);
            if name == "full_batch" {
                assert_same(&truth, &network.flat(&expected["grad"]), &what);
                continue;
            }
            let sync = recipe(faults(name)).sync;
            let mut grads = Grads::zeros(case.replicas.len(), network.parameters.len());
            let contributions = weighted(&network, &network.parameters, &group, ConventionId::TokenWeighted);
            grads.accumulate(
                Accumulation {
                    sync,
                    ..Accumulation::default()
                },
                &group.facts,
                &contributions,
            );

            let exchanges = list(&expected["allreduces_per_rank"]);
            assert!(
                exchanges.iter().all(|count| whole(count) == grads.exchanges),
                "{what}: {}",
                grads.exchanges
            );
            assert_eq!(sync.exchanges(case.accumulation), grads.exchanges, "{what}");
            let identical = grads.replicas.iter().all(|grad| *grad == grads.replicas[0]);
            assert_eq!(Some(identical), expected["ranks_bit_identical"].as_bool(), "{what}");
            for (rank, (grad, against)) in grads
                .replicas
                .iter()
                .zip(list(&expected["vs_full_batch_per_rank"]))
                .enumerate()
            {
                let golden = expected.get("grad").unwrap_or(&expected["grad_per_rank"][rank]);
                assert_same(grad, &network.flat(golden), &what);
                assert_close(relative_l2(grad, &truth), number(&against["rel_l2_error"]), &what);
                assert_close(cosine(grad, &truth), number(&against["cosine"]), &what);
                assert_close(norm(grad) / norm(&truth), number(&against["norm_ratio"]), &what);
            }
            let spread = (0..network.parameters.len())
                .map(|i| spread(&grads, i) * rate)
                .fold(0.0, f64::max);
            assert_close(
                spread,
                number(&expected["params_max_abs_spread_across_ranks_after_sgd"]),
                &what,
            );
        }
    }
}

/// How far one element of `.grad` lies from that of the first replica, at most.
fn spread(grads: &Grads, element: usize) -> f64 {
    let first = grads.replicas[0][element];
    grads
        .replicas
        .iter()
        .map(|grad| (grad[element] - first).abs())
        .fold(0.0, f64::max)
}

#[test]
fn an_exchange_one_microbatch_too_early_parts_the_replicas() {
    let cell = |replica, index| MicrobatchFacts {
        replica,
        index,
        examples: 1,
        scored_examples: 1,
        supervised: 1,
        positions: 1,
        unpadded: 1,
    };
    let microbatches = vec![cell(0, 0), cell(1, 0), cell(0, 1), cell(1, 1)];
    let group = GroupFacts {
        replicas: 2,
        nominal_accumulation: 2,
        microbatches,
    };
    let run = |faults| {
        let sync = recipe(faults).sync;
        let mut grads = Grads::zeros(2, 1);
        let contributions = [vec![1.0], vec![3.0], vec![2.0], vec![5.0]];
        grads.accumulate(
            Accumulation {
                sync,
                ..Accumulation::default()
            },
            &group,
            &contributions,
        );
        (grads.replicas.concat(), grads.exchanges)
    };
    assert_eq!(run(&[FaultId::SyncFirstMicrobatch]), (vec![4.0, 7.0], 1));
    assert_eq!(run(&[]), (vec![5.5, 5.5], 1));
}
