//! A last group with fewer microbatches, cut by the lab's own plan.

use microbatch_lab::batch::{
    ConventionId, Example, ExampleId, FaultId, GroupPlan, LastGroup, PaddedBatch, Sharding, Split,
    oracle::{Accumulation, Grads, Optimizer, Sgd, norm, relative_l2},
    plan::{EpochPlan, EpochStart, plan_epoch},
    recipe::Tail,
};
use serde_json::Value;

use super::{
    assert_close, assert_same, recipe,
    support::golden::{self, Golden, Group, Network, list, number, whole},
    train::{gradient, train, weighted},
};

/// The rows of microbatches without their padding, as examples numbered as they stand.
pub(super) fn unpadded<'a>(microbatches: impl IntoIterator<Item = &'a Value>) -> Vec<Example> {
    let mut examples = Vec::new();
    for microbatch in microbatches {
        let cells = |key: &str| list(&microbatch[key]).iter().map(list).collect::<Vec<_>>();
        let rows = cells("tokens")
            .into_iter()
            .zip(cells("labels"))
            .zip(list(&microbatch["lengths"]));
        for ((tokens, labels), length) in rows {
            let (length, id) = (whole(length) as usize, u32::try_from(examples.len()).expect("few"));
            let label = |label: &Value| label.as_i64().and_then(|n| i32::try_from(n).ok()).expect("a label");
            examples.push(Example {
                id: ExampleId(id),
                tokens: tokens.iter().take(length).map(whole).collect(),
                labels: labels.iter().take(length).map(label).collect(),
            });
        }
    }
    examples
}

fn plan(golden: &Golden, examples: &[Example], last_group: LastGroup) -> EpochPlan {
    let size = |key: &str| whole(&golden.inputs()[key]);
    let split = Split::new(size("m"), size("A"), 1).expect("no zero");
    let order: Vec<ExampleId> = examples.iter().map(|example| example.id).collect();
    plan_epoch(
        examples,
        &order,
        split,
        Sharding::default(),
        last_group,
        EpochStart {
            epoch: 0,
            first_group: 0,
        },
    )
}

fn groups(plan: &EpochPlan, examples: &[Example]) -> Vec<Group> {
    let batches = |group: &GroupPlan| {
        group
            .microbatches
            .iter()
            .map(|k| PaddedBatch::of(examples, &k.ids))
            .collect()
    };
    plan.groups
        .iter()
        .map(|group| Group {
            batches: batches(group),
            facts: group.facts(),
        })
        .collect()
}

#[test]
fn policies() {
    for golden in golden::of_kind("partial_group") {
        let (network, examples) = (golden.network(), unpadded(list(&golden.inputs()["microbatches"])));
        let processed = plan(&golden, &examples, LastGroup::Process);
        let counts: Vec<u64> = processed.groups.iter().map(GroupPlan::supervised).collect();
        let expected: Vec<u64> = list(&golden.json["counts"]["per_group"])
            .iter()
            .map(|n| whole(n).into())
            .collect();
        assert_eq!(counts, expected, "{}", golden.name);

        let all = groups(&processed, &examples);
        let run = |policy: &str, groups: &[Group], id| check(&golden, &network, groups, id, &golden.outputs()[policy]);
        run("weighted_real_denominator", &all, ConventionId::TokenWeighted);
        run("mean_real_count", &all, ConventionId::MeanOfMeans);
        run("mean_nominal_A", &all, ConventionId::NominalAccumulation);

        let dropping = plan(&golden, &examples, LastGroup::Drop);
        assert_eq!(recipe(&[FaultId::TailDropped]).tail, Tail::Dropped);
        run("dropped", &groups(&dropping, &examples), ConventionId::TokenWeighted);
        let expected = &golden.outputs()["dropped"];
        let m = whole(&golden.inputs()["m"]);
        assert_eq!(
            dropping.dropped.len(),
            (whole(&expected["dropped_microbatches"]) * m) as usize,
            "{}",
            golden.name
        );
        let tokens: u64 = dropping
            .dropped
            .iter()
            .map(|id| examples[id.0 as usize].supervised())
            .sum();
        assert_eq!(tokens, u64::from(whole(&expected["dropped_tokens"])), "{}", golden.name);
    }
}

fn check(golden: &Golden, network: &Network, groups: &[Group], id: ConventionId, expected: &Value) {
    let what = format!("{} {id:?}", golden.name);
    let rate = number(&golden.inputs()["sgd_lr"]);
    let updates = train(network, groups, id, &mut Optimizer::Sgd(Sgd::new(0.0)), rate);
    assert_eq!(updates.len(), whole(&expected["updates"]) as usize, "{what}");
    for (ours, step) in updates.iter().zip(list(&expected["per_update"])) {
        assert_close(norm(&ours.gradient), number(&step["grad_norm"]), &what);
        assert_same(&ours.parameters, &network.flat(&step["params"]), &what);
        if step.get("grad").is_some() {
            assert_same(&ours.gradient, &network.flat(&step["grad"]), &what);
        }
    }
}

/// The tail stays in `.grad` and the next epoch's first group drags it along.
#[test]
fn leaked() {
    for golden in golden::of_kind("partial_group") {
        let (network, examples) = (golden.network(), unpadded(list(&golden.inputs()["microbatches"])));
        let all = groups(&plan(&golden, &examples, LastGroup::Process), &examples);
        let (tail, full) = all.split_last().expect("groups");
        let expected = &golden.outputs()["leaked_into_next_epoch"];
        assert_eq!(
            full.len(),
            whole(&expected["updates_in_epoch"]) as usize,
            "{}",
            golden.name
        );
        assert_eq!(recipe(&[FaultId::TailCarried]).tail, Tail::Carried);
        // The loop divides every mean by A as set.
        let id = ConventionId::NominalAccumulation;
        let rate = number(&golden.inputs()["sgd_lr"]);
        let updates = train(&network, full, id, &mut Optimizer::Sgd(Sgd::new(0.0)), rate);
        let parameters = &updates.last().expect("some").parameters;

        let how = Accumulation::default();
        let mut grads = Grads::zeros(1, parameters.len());
        grads.accumulate(how, &tail.facts, &weighted(&network, parameters, tail, id));
        assert_close(
            norm(&grads.replicas[0]),
            number(&expected["tail_grad_norm"]),
            &golden.name,
        );
        grads.accumulate(how, &full[0].facts, &weighted(&network, parameters, &full[0], id));
        assert_same(
            &grads.replicas[0],
            &network.flat(&expected["next_group_grad"]),
            &golden.name,
        );
        let without = gradient(&network, parameters, &full[0], id);
        assert_same(
            &without,
            &network.flat(&expected["next_group_grad_without_leak"]),
            &golden.name,
        );
        let error = relative_l2(&grads.replicas[0], &without);
        assert_close(error, number(&expected["rel_l2_error"]), &golden.name);
    }
}
