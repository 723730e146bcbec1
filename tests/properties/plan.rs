//! Groups, microbatches and padding.

use std::collections::BTreeSet;

use microbatch_lab::batch::{
    Example, ExampleId, IGNORE_INDEX, LastGroup, MicrobatchFacts, PaddedBatch, Sharding, Split, epoch_order,
    order::padded_to_replicas,
    plan::{EpochPlan, EpochStart, plan_epoch},
};
use proptest::{collection::vec, prelude::*};

use super::support::{
    self,
    setups::{named, split},
};

const START: EpochStart = EpochStart {
    epoch: 3,
    first_group: 7,
};

/// Examples with lengths and supervised counts of their own, some without any supervised token.
pub(super) fn examples() -> impl Strategy<Value = Vec<Example>> {
    let example = (1usize..12).prop_flat_map(|length| (Just(length), 0..=length));
    vec(example, 1..80).prop_map(|sizes| {
        let make = |(id, (length, prompt)): (u32, (usize, usize))| Example {
            id: ExampleId(id),
            tokens: vec![1; length],
            labels: (0..length).map(|t| if t < prompt { IGNORE_INDEX } else { 1 }).collect(),
        };
        (0u32..).zip(sizes).map(make).collect()
    })
}

fn small_split() -> impl Strategy<Value = Split> {
    (1..=5u32, 1..=5u32, 1..=5u32).prop_map(|(m, a, d)| Split::new(m, a, d).expect("no zero"))
}

/// Shardings that give each example to one replica.
pub(super) fn dealt() -> impl Strategy<Value = Sharding> {
    named::<Sharding>().prop_filter("each example to one replica", |sharding| {
        *sharding != Sharding::Identical
    })
}

fn order(examples: &[Example]) -> Vec<ExampleId> {
    examples.iter().rev().map(|example| example.id).collect()
}

fn plan(examples: &[Example], split: Split, sharding: Sharding, last_group: LastGroup) -> EpochPlan {
    plan_epoch(examples, &order(examples), split, sharding, last_group, START)
}

proptest! {
    #![proptest_config(support::config(256))]

    #[test]
    fn every_example_is_processed_or_dropped_exactly_once(
        examples in examples(), split in small_split(), sharding in dealt(), last in named::<LastGroup>()
    ) {
        let plan = plan(&examples, split, sharding, last);
        let processed = plan.groups.iter().flat_map(|g| g.microbatches.iter().flat_map(|k| k.ids.iter()));
        let mut seen: Vec<ExampleId> = processed.chain(&plan.dropped).copied().collect();
        seen.sort_unstable();
        let all: Vec<ExampleId> = examples.iter().map(|e| e.id).collect();
        prop_assert_eq!(seen, all);
        let left_over = examples.len() as u64 % split.effective_batch();
        let dropped = if last == LastGroup::Drop { left_over } else { 0 };
        prop_assert_eq!(plan.dropped.len() as u64, dropped);
    }

    #[test]
    fn groups_follow_one_another_and_only_the_last_is_partial(
        examples in examples(), split in small_split(), sharding in dealt()
    ) {
        let plan = plan(&examples, split, sharding, LastGroup::Process);
        let full = split.effective_batch();
        prop_assert_eq!(plan.groups.len() as u64, (examples.len() as u64).div_ceil(full));
        let mut before = 0;
        let places = order(&examples);
        for (number, group) in (START.first_group..).zip(&plan.groups) {
            prop_assert_eq!((group.number, group.epoch), (number, START.epoch));
            prop_assert_eq!(group.partial, group.examples() < full);
            prop_assert!(!group.partial || before + group.examples() == examples.len() as u64);
            // Consecutive examples of the epoch's order, whatever the sharding.
            let wanted: BTreeSet<ExampleId> =
                (before..before + group.examples()).filter_map(|p| places.get(usize::try_from(p).ok()?)).copied().collect();
            let got: BTreeSet<ExampleId> = group.microbatches.iter().flat_map(|k| k.ids.iter().copied()).collect();
            prop_assert_eq!(got, wanted);
            before += group.examples();
        }
    }

    #[test]
    fn a_full_group_has_a_times_d_microbatches_of_m(
        examples in examples(), split in small_split(), sharding in named::<Sharding>()
    ) {
        for group in plan(&examples, split, sharding, LastGroup::Drop).groups {
            prop_assert_eq!(group.microbatches.len() as u64, split.microbatches());
            prop_assert!(group.microbatches.iter().all(|k| k.ids.len() as u64 == u64::from(split.microbatch.get())));
            let cells: Vec<(u32, u32)> = group.microbatches.iter().map(|k| (k.facts.index, k.facts.replica)).collect();
            let all = (0..split.accumulation.get()).flat_map(|a| (0..split.replicas.get()).map(move |d| (a, d)));
            prop_assert_eq!(cells, all.collect::<Vec<_>>(), "in the order of work");
        }
    }

    #[test]
    fn no_microbatch_is_empty_or_larger_than_m(
        examples in examples(), split in small_split(), sharding in named::<Sharding>()
    ) {
        for group in plan(&examples, split, sharding, LastGroup::Process).groups {
            let m = split.microbatch.get() as usize;
            prop_assert!(group.microbatches.iter().all(|k| (1..=m).contains(&k.ids.len())));
            prop_assert!(group.microbatches.iter().all(|k| k.facts.replica < split.replicas.get()));
            prop_assert!(group.microbatches.iter().all(|k| k.facts.index < split.accumulation.get()));
        }
    }

    #[test]
    fn counts_are_those_of_the_padded_batch(
        examples in examples(), split in small_split(), sharding in named::<Sharding>()
    ) {
        for group in plan(&examples, split, sharding, LastGroup::Process).groups {
            let mut denominator = 0;
            for k in &group.microbatches {
                let batch = PaddedBatch::of(&examples, &k.ids);
                let rows: Vec<&Example> = k.ids.iter().map(|id| &examples[id.0 as usize]).collect();
                let real: usize = rows.iter().map(|e| e.length()).sum();
                prop_assert_eq!(batch.ids, k.ids.clone());
                prop_assert_eq!(k.facts.positions, batch.tokens.len() as u64);
                prop_assert_eq!(k.padded, (batch.tokens.len() - real) as u64);
                prop_assert_eq!(k.padded, batch.tokens.iter().filter(|&&t| t == 0).count() as u64);
                prop_assert_eq!(k.facts.supervised, batch.labels.iter().filter(|&&l| l != IGNORE_INDEX).count() as u64);
                prop_assert_eq!(k.facts.examples as usize, k.ids.len());
                prop_assert_eq!(k.facts.scored_examples as usize, rows.iter().filter(|e| e.supervised() > 0).count());
                denominator += k.facts.supervised;
            }
            prop_assert_eq!((group.supervised(), group.facts().supervised()), (denominator, denominator));
            let on_replicas: u64 = (0..split.replicas.get()).map(|d| group.facts().supervised_on(d)).sum();
            prop_assert_eq!(on_replicas, denominator);
        }
    }

    #[test]
    fn the_whole_of_a_group_is_the_same_examples_at_once(
        examples in examples(), split in small_split(), sharding in named::<Sharding>()
    ) {
        for group in plan(&examples, split, sharding, LastGroup::Process).groups {
            let whole = group.whole(&examples);
            prop_assert_eq!((whole.microbatches.len(), whole.replicas, whole.nominal_accumulation), (1, 1, 1));
            prop_assert_eq!(whole.supervised(), group.supervised());
            prop_assert_eq!(whole.examples(), group.examples());
            prop_assert_eq!((whole.number, whole.epoch, whole.partial), (group.number, group.epoch, group.partial));
            let ids: Vec<ExampleId> = group.microbatches.iter().flat_map(|k| k.ids.iter().copied()).collect();
            prop_assert_eq!(&whole.microbatches[0].ids, &ids);
        }
    }

    #[test]
    fn sharding_is_a_bijection_on_a_full_group(split in split(), sharding in dealt()) {
        let (m, a, d) = (u64::from(split.microbatch.get()), u64::from(split.accumulation.get()), u64::from(split.replicas.get()));
        let places: BTreeSet<(u64, u64)> = (0..split.effective_batch()).map(|p| sharding.place(p, m, a, d)).collect();
        let all: BTreeSet<(u64, u64)> = (0..d).flat_map(|replica| (0..m * a).map(move |place| (replica, place))).collect();
        prop_assert_eq!(places, all);
    }

    #[test]
    fn identical_replicas_each_get_what_one_replica_would(
        examples in examples(), split in small_split(), last in named::<LastGroup>()
    ) {
        let copies = plan(&examples, split, Sharding::Identical, last);
        let one = Split::new(split.microbatch.get(), split.accumulation.get(), 1).expect("no zero");
        let alone = plan(&examples, one, Sharding::Interleaved, last);
        prop_assert_eq!(copies.groups.len(), alone.groups.len());
        prop_assert_eq!(&copies.dropped, &alone.dropped);
        for (group, alone) in copies.groups.iter().zip(&alone.groups) {
            prop_assert_eq!((group.number, group.epoch, group.partial), (alone.number, alone.epoch, alone.partial));
            prop_assert_eq!(group.replicas, split.replicas.get());
            for replica in 0..split.replicas.get() {
                let of: Vec<_> = group.microbatches.iter().filter(|k| k.facts.replica == replica).collect();
                prop_assert_eq!(of.len(), alone.microbatches.len());
                for (k, lone) in of.iter().zip(&alone.microbatches) {
                    prop_assert_eq!(&k.ids, &lone.ids);
                    prop_assert_eq!(k.facts, MicrobatchFacts { replica, ..lone.facts });
                }
            }
        }
    }

    #[test]
    fn a_sampler_pads_with_the_first_examples_to_a_multiple_of_the_replicas(count in 1u32..40, replicas in 1u32..9, epoch in 0u32..3) {
        let order = epoch_order(count, Some(5), epoch);
        let padded = padded_to_replicas(order.clone(), replicas);
        prop_assert_eq!(padded.len() % replicas as usize, 0);
        prop_assert!(padded.len() >= order.len() && padded.len() - order.len() < replicas as usize);
        for (place, id) in padded.iter().enumerate() {
            prop_assert_eq!(*id, order[place % order.len()]);
        }
    }

    #[test]
    fn each_epoch_has_every_example_once_in_an_order_of_its_own(count in 20u32..60, seed: u32, epoch in 0u32..1000) {
        let order = epoch_order(count, Some(seed), epoch);
        let ids: BTreeSet<ExampleId> = order.iter().copied().collect();
        prop_assert_eq!((ids.len(), order.len()), (count as usize, count as usize));
        prop_assert_eq!(ids.last(), Some(&ExampleId(count - 1)));
        // Twenty examples have 2e18 orders: that two of them agree by chance is not to be expected.
        prop_assert_eq!(&epoch_order(count, Some(seed), epoch), &order);
        prop_assert_ne!(&epoch_order(count, Some(seed), epoch + 1), &order);
        prop_assert_ne!(&epoch_order(count, Some(seed ^ 1), epoch), &order);
        prop_assert_ne!(&epoch_order(count, Some(seed ^ (1 << 31)), epoch), &order);
        let as_it_stands: Vec<ExampleId> = (0..count).map(ExampleId).collect();
        prop_assert_eq!(epoch_order(count, None, epoch), as_it_stands);
    }

    #[test]
    fn padding_is_never_scored(examples in examples()) {
        let rows: Vec<&Example> = examples.iter().collect();
        let batch = PaddedBatch::new(&rows);
        for (row, example) in batch.tokens.chunks(batch.width).zip(batch.labels.chunks(batch.width)).zip(&rows) {
            let (tokens, labels) = row;
            prop_assert_eq!(&tokens[..example.length()], &*example.tokens);
            prop_assert_eq!(&labels[..example.length()], &*example.labels);
            prop_assert!(tokens[example.length()..].iter().all(|&t| t == 0));
            prop_assert!(labels[example.length()..].iter().all(|&l| l == IGNORE_INDEX));
        }
        prop_assert_eq!(batch.rows(), examples.len());
        prop_assert_eq!(batch.supervised(), examples.iter().map(Example::supervised).sum::<u64>());
    }
}

#[test]
fn the_shardings_deal_as_their_models_do() {
    // m 2, A 2, D 2: eight examples.
    let deal = |sharding: Sharding| (0..8).map(|p| sharding.place(p, 2, 2, 2).0).collect::<Vec<u64>>();
    assert_eq!(deal(Sharding::Interleaved), [0, 1, 0, 1, 0, 1, 0, 1]);
    assert_eq!(deal(Sharding::Microbatches), [0, 0, 1, 1, 0, 0, 1, 1]);
    assert_eq!(deal(Sharding::Blocks), [0, 0, 0, 0, 1, 1, 1, 1]);
    let place = |sharding: Sharding| (0..4).map(|p| sharding.place(p, 2, 2, 2)).collect::<Vec<_>>();
    assert_eq!(place(Sharding::Identical), [(0, 0), (0, 1), (0, 2), (0, 3)]);
    assert_eq!(place(Sharding::Interleaved), [(0, 0), (1, 0), (0, 1), (1, 1)]);
    assert_eq!(place(Sharding::Microbatches), [(0, 0), (0, 1), (1, 0), (1, 1)]);
    assert_eq!(place(Sharding::Blocks), [(0, 0), (0, 1), (0, 2), (0, 3)]);
}

#[test]
fn nothing_needs_no_padding_and_few_examples_are_repeated_often() {
    assert_eq!(padded_to_replicas(Vec::new(), 4), []);
    assert_eq!(
        padded_to_replicas(epoch_order(2, None, 0), 5),
        [0, 1, 0, 1, 0].map(ExampleId)
    );
    assert_eq!(
        padded_to_replicas(epoch_order(3, None, 0), 0),
        [0, 1, 2].map(ExampleId),
        "as if D were 1"
    );
}
