//! D, batches, updates and tokens that were counted otherwise than people thought.

use std::{collections::BTreeSet, num::NonZeroU32};

use microbatch_lab::batch::{
    Example, ExampleId, LastGroup, Sharding, Split, Topology, epoch_order,
    order::padded_to_replicas,
    plan::{EpochPlan, EpochStart, plan_epoch},
};

use super::Case;

/// A topology of `world` processes; sizes that a case does not give are 1.
pub(crate) fn topology(world: u32, tensor: u32, pipeline: u32, context: u32) -> Topology {
    let n = |x| NonZeroU32::new(x).expect("no zero");
    Topology {
        world: n(world),
        tensor: n(tensor),
        pipeline: n(pipeline),
        context: n(context),
    }
}

/// m x A x D.
fn batch(m: u32, a: u32, d: u32) -> u64 {
    split(m, a, d).effective_batch()
}

fn split(m: u32, a: u32, d: u32) -> Split {
    Split::new(m, a, d).expect("no zero")
}

/// One epoch of `count` examples of one token.
pub(crate) fn epoch(count: u32, split: Split, last_group: LastGroup) -> EpochPlan {
    let examples: Vec<Example> = (0..count)
        .map(|id| Example {
            id: ExampleId(id),
            tokens: vec![1],
            labels: vec![1],
        })
        .collect();
    let start = EpochStart {
        epoch: 0,
        first_group: 0,
    };
    let order = epoch_order(count, None, 0);
    plan_epoch(&examples, &order, split, Sharding::Interleaved, last_group, start)
}

pub(crate) fn tensor_parallel(case: &Case) {
    let of = |key: &str| case.whole(&format!("/given/{key}"));
    let (m, a, processes) = (of("m"), of("A"), of("processes"));
    let d = topology(processes, of("tp"), 1, 1).replicas().expect("a whole D").get();
    assert_eq!(d, case.whole("/right/D"));
    assert_eq!(batch(m, a, d), u64::from(case.whole("/right/total_batch")));
    assert_eq!(batch(m, a, processes), u64::from(case.whole("/reported/total_batch")));
}

pub(crate) fn context_parallel(case: &Case) {
    let of = |key: &str| case.whole(&format!("/given/{key}"));
    let d = topology(of("gpus"), 1, 1, of("cp"))
        .replicas()
        .expect("a whole D")
        .get();
    assert_eq!(d, case.whole("/right/D"));
    assert_eq!(batch(of("m"), of("A"), d), u64::from(case.whole("/right/batch")));
    assert_eq!(
        batch(of("m"), of("A"), of("gpus")),
        u64::from(case.whole("/reported/batch"))
    );
}

pub(crate) fn sequence_parallel(case: &Case) {
    let of = |key: &str| case.whole(&format!("/given/{key}"));
    let updates = |d| {
        epoch(of("examples"), split(of("m"), of("A"), d), LastGroup::Process)
            .groups
            .len()
            * of("epochs") as usize
    };
    // Ranks that share a sequence share its examples, as context-parallel ones do.
    let d = topology(of("gpus"), 1, 1, of("sp"))
        .replicas()
        .expect("a whole D")
        .get();
    assert_eq!(batch(of("m"), of("A"), d), u64::from(case.whole("/right/batch")));
    assert_eq!(updates(d), case.whole("/right/updates") as usize);
    assert_eq!(
        updates(of("gpus")),
        case.whole("/reported/expected_updates_by_user") as usize
    );
}

pub(crate) fn world_of_one(case: &Case) {
    let of = |key: &str| case.whole(&format!("/given/{key}"));
    let (target, m, a, seen) = (of("train_batch_size"), of("m"), of("A"), of("world_seen"));
    assert_eq!(case.at("/reported/error"), &format!("{target} != {m} * {a} * {seen}"));
    assert_ne!(batch(m, a, seen), u64::from(target));
    let fitting: Vec<u32> = (1..=target).filter(|&d| batch(m, a, d) == u64::from(target)).collect();
    assert_eq!(fitting, [case.whole("/right/world")]);
}

pub(crate) fn global_a(case: &Case) {
    let of = |key: &str| case.whole(&format!("/given/{key}"));
    let (m, a, d) = (of("batch_size"), of("gradient_accumulation_steps"), of("world"));
    let tokens = |a| batch(m, a, d) * u64::from(of("block_size"));
    assert_eq!(tokens(a), u64::from(case.whole("/reported/tokens_per_update_by_user")));
    let rank = case.whole("/right/A_per_rank");
    assert_eq!(rank * d, a);
    assert_eq!(tokens(rank), u64::from(case.whole("/right/tokens_per_update")));
}

pub(crate) fn epochs_that_vanish(case: &Case) {
    let of = |key: &str| case.whole(&format!("/given/{key}"));
    let split_of = |m| split(m, of("A"), of("D"));
    let processed = epoch(of("examples"), split_of(of("m")), LastGroup::Process);
    let dropped = epoch(of("examples"), split_of(of("m")), LastGroup::Drop);
    let microbatches: usize = processed.groups.iter().map(|group| group.microbatches.len()).sum();
    assert_eq!(microbatches, case.whole("/right/microbatches_per_epoch") as usize);
    assert_eq!(
        processed.groups.len(),
        case.whole("/right/updates_per_epoch_ceil") as usize
    );
    assert_eq!(
        dropped.groups.len(),
        case.whole("/right/updates_per_epoch_floor") as usize
    );
    let total = dropped.groups.len() * of("epochs") as usize;
    assert_eq!(total, case.whole("/right/updates_total_floor") as usize);
    // What was expected for one epoch is what m = 1 would give.
    let expected = epoch(of("examples"), split_of(1), LastGroup::Drop).groups.len();
    assert_eq!(expected, case.whole("/reported/expected_updates_by_user") as usize);
}

pub(crate) fn duplicates(case: &Case) {
    let (examples, d) = (case.whole("/given/examples"), case.whole("/given/D"));
    let padded = padded_to_replicas(epoch_order(examples, Some(3), 0), d);
    let unique: BTreeSet<ExampleId> = padded.iter().copied().collect();
    assert_eq!(padded.len(), case.whole("/reported/processed") as usize);
    assert_eq!(unique.len(), case.whole("/right/unique") as usize);
    assert_eq!(padded.len() - unique.len(), case.whole("/right/duplicates") as usize);
    // The first ones are repeated.
    let repeats = case.whole("/right/duplicates") as usize;
    assert_eq!(padded[examples as usize..], padded[..repeats]);
}
