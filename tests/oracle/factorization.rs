//! The same examples cut as many (m, A, D), by the lab's own plan.

use microbatch_lab::batch::{
    ConventionId, GroupLoss, LastGroup, PaddedBatch, Sharding, Split,
    oracle::{norm, relative_l2},
    plan::{EpochStart, plan_epoch},
};

use super::{
    assert_close, assert_same,
    partial_group::unpadded,
    support::golden::{self, Group, list, number, whole},
    train::{contributions, gradient},
};
use microbatch_lab::batch::TokenWeights;

#[test]
fn splits() {
    for golden in golden::of_kind("factorization") {
        let network = golden.network();
        let examples = unpadded([&golden.inputs()["examples"]]);
        let order: Vec<_> = examples.iter().map(|example| example.id).collect();
        let full = &golden.outputs()["full_batch"];
        let truth = network.flat(&full["grad"]);
        assert_close(norm(&truth), number(&full["grad_norm"]), &golden.name);
        let splits = list(&golden.outputs()["splits"]);
        assert_eq!(splits.len(), list(&golden.inputs()["splits"]).len());
        for expected in splits {
            let size = |key: &str| whole(&expected[key]);
            let split = Split::new(size("m"), size("A"), size("D")).expect("no zero");
            let start = EpochStart {
                epoch: 0,
                first_group: 0,
            };
            let plan = plan_epoch(&examples, &order, split, Sharding::Blocks, LastGroup::Process, start);
            let [planned] = plan.groups.as_slice() else {
                panic!("one group")
            };
            assert!(!planned.partial);
            let batches = planned
                .microbatches
                .iter()
                .map(|k| PaddedBatch::of(&examples, &k.ids))
                .collect();
            let group = Group {
                batches,
                facts: planned.facts(),
            };
            let parts = contributions(&network, &network.parameters, &group, TokenWeights::Uniform);
            let sums = group
                .facts
                .microbatches
                .iter()
                .zip(&parts)
                .map(|(k, part)| (part.loss_sum, k.supervised));
            let loss = GroupLoss::from_sums(sums.clone());
            let replica_mean = |d| {
                let sum: f64 = group
                    .facts
                    .microbatches
                    .iter()
                    .zip(&parts)
                    .filter(|(k, _)| k.replica == d)
                    .map(|(_, p)| p.loss_sum)
                    .sum();
                sum / group.facts.supervised_on(d) as f64
            };
            let local = (0..size("D")).map(replica_mean).sum::<f64>() / f64::from(size("D"));
            let ways = [
                ("weighted", ConventionId::TokenWeighted, loss.token_weighted()),
                ("mean_of_means", ConventionId::MeanOfMeans, loss.mean_of_means()),
                ("local_token_mean", ConventionId::ReplicaTokenMean, Some(local)),
            ];
            for (name, id, loss) in ways {
                let what = format!("{} {split:?} {name}", golden.name);
                let ours = gradient(&network, &network.parameters, &group, id);
                let expected = &expected[name];
                assert_close(loss.expect("tokens"), number(&expected["loss"]), &what);
                assert_close(norm(&ours), number(&expected["grad_norm"]), &what);
                assert_close(relative_l2(&ours, &truth), number(&expected["rel_l2_error"]), &what);
                if id == ConventionId::TokenWeighted {
                    assert_same(&ours, &truth, &what);
                }
            }
        }
    }
}
