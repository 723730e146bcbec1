//! How examples are cut: a last group with fewer microbatches, and the same examples as many (m, A, D).

use microbatch_lab::{
    batch::{
        ConventionId, FaultId, LastGroup,
        oracle::{norm, relative_l2},
    },
    protocol::Outcome,
};

use super::{
    TOLERANCE,
    on_device::{Data, Loop, assert_number, assert_set},
    run,
    support::golden::{self, Golden, Network, list, microbatch, number, whole},
};

fn tailed(golden: &Golden) -> Data {
    let batches: Vec<_> = list(&golden.inputs()["microbatches"]).iter().map(microbatch).collect();
    let a = whole(&golden.inputs()["A"]) as usize;
    let mut data = Data::of_groups(std::slice::from_ref(&batches));
    data.split = Data::of_groups(&[batches[..a].to_vec()]).split;
    data
}

#[test]
fn partial_groups() {
    for golden in golden::of_kind("partial_group") {
        let (network, data) = (golden.network(), tailed(&golden));
        policy(
            &golden,
            &network,
            &data,
            "weighted_real_denominator",
            ConventionId::TokenWeighted,
            &[],
        );
        policy(
            &golden,
            &network,
            &data,
            "mean_real_count",
            ConventionId::MeanOfMeans,
            &[],
        );
        policy(
            &golden,
            &network,
            &data,
            "mean_nominal_A",
            ConventionId::NominalAccumulation,
            &[],
        );
        policy(
            &golden,
            &network,
            &data,
            "dropped",
            ConventionId::TokenWeighted,
            &[FaultId::TailDropped],
        );
        let dropping = Data {
            last_group: LastGroup::Drop,
            ..tailed(&golden)
        };
        policy(
            &golden,
            &network,
            &dropping,
            "dropped",
            ConventionId::TokenWeighted,
            &[],
        );
    }
}

fn policy(golden: &Golden, network: &Network, data: &Data, name: &str, id: ConventionId, faults: &[FaultId]) {
    let expected = &golden.outputs()[name];
    let how = Loop::new(id, faults, number(&golden.inputs()["sgd_lr"]));
    let ended = run(network, data, &how, whole(&expected["updates"]) as usize);
    for (ours, step) in ended.iter().zip(list(&expected["per_update"])) {
        let what = format!("{} {name} {faults:?} {}", golden.name, ours.group.plan.number);
        assert_number(ours.row().gradient_norm, number(&step["grad_norm"]), TOLERANCE, &what);
        assert_set(&ours.parameters[0], &network.flat(&step["params"]), TOLERANCE, &what);
        if step.get("grad").is_some() {
            assert_set(&ours.gradients[0], &network.flat(&step["grad"]), TOLERANCE, &what);
        }
    }
}

/// The tail stays in `.grad` and the next epoch's first group drags it along; where the tail is dropped, it does not.
#[test]
fn a_tail_is_dragged_along() {
    for golden in golden::of_kind("partial_group") {
        let (network, data) = (golden.network(), tailed(&golden));
        let expected = &golden.outputs()["leaked_into_next_epoch"];
        let updates = whole(&expected["updates_in_epoch"]) as usize;
        let after = |fault| {
            let how = Loop::new(
                ConventionId::NominalAccumulation,
                &[fault],
                number(&golden.inputs()["sgd_lr"]),
            );
            run(&network, &data, &how, updates + 2)
        };
        let (carried, dropped) = (after(FaultId::TailCarried), after(FaultId::TailDropped));
        let what = &golden.name;
        let tail = carried[updates].row();
        assert_eq!(tail.outcome, Outcome::Carried, "{what}");
        assert_eq!(dropped[updates].row().outcome, Outcome::Dropped, "{what}");
        assert_eq!(tail.counters.update_attempts, updates as u64, "{what}");
        assert_number(tail.gradient_norm, number(&expected["tail_grad_norm"]), TOLERANCE, what);
        let (with, without) = (&carried[updates + 1].gradients[0], &dropped[updates + 1].gradients[0]);
        assert_set(with, &network.flat(&expected["next_group_grad"]), TOLERANCE, what);
        let golden = network.flat(&expected["next_group_grad_without_leak"]);
        assert_set(without, &golden, TOLERANCE, what);
        assert_number(
            relative_l2(with, without),
            number(&expected["rel_l2_error"]),
            TOLERANCE,
            what,
        );
    }
}

#[test]
fn factorizations() {
    for golden in golden::of_kind("factorization") {
        let network = golden.network();
        let all = Data::of_groups(&[vec![microbatch(&golden.inputs()["examples"])]]);
        let truth = network.flat(&golden.outputs()["full_batch"]["grad"]);
        for expected in list(&golden.outputs()["splits"]) {
            let [m, a, d] = ["m", "A", "D"].map(|key| whole(&expected[key]));
            let data = Data::new(m, a, d, all.examples.clone());
            for (name, id) in [
                ("weighted", ConventionId::TokenWeighted),
                ("mean_of_means", ConventionId::MeanOfMeans),
                ("local_token_mean", ConventionId::ReplicaTokenMean),
            ] {
                let what = format!("{} {m} {a} {d} {name}", golden.name);
                let expected = &expected[name];
                let ended = run(&network, &data, &Loop::new(id, &[], 0.1), 1).remove(0);
                let ours = &ended.gradients[0];
                assert_number(norm(ours), number(&expected["grad_norm"]), TOLERANCE, &what);
                let error = relative_l2(ours, &truth);
                assert_number(error, number(&expected["rel_l2_error"]), TOLERANCE, &what);
                assert_number(ended.row().logged_loss, number(&expected["loss"]), TOLERANCE, &what);
                if id == ConventionId::TokenWeighted {
                    assert_set(ours, &truth, TOLERANCE, &what);
                }
            }
        }
    }
}
