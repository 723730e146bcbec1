//! What holds for every split, every data set and every convention.
#![cfg(not(target_arch = "wasm32"))]

#![allow(clippy::expect_used, reason = "strategies and helpers fail their test at once")]
#![allow(clippy::float_cmp, reason = "a peak and a zero are exact")]

mod support;

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use microbatch_lab::batch::{
    Convention, ConventionId, Example, ExampleId, GroupFacts, GroupLoss, IGNORE_INDEX, LastGroup, MicrobatchFacts,
    PaddedBatch, Pass, Schedule, ScheduleShape, Sharding, Split, Topology,
    convention::TABLE,
    oracle::{Contribution, combine, relative_l2, token_weights},
    plan::{EpochPlan, EpochStart, plan_epoch},
};
use microbatch_lab::setup::Named;
use proptest::{collection::vec, prelude::*};
use support::setups::{named, split};

const START: EpochStart = EpochStart {
    epoch: 3,
    first_group: 7,
};

/// Examples with lengths and supervised counts of their own, some without any supervised token.
fn examples() -> impl Strategy<Value = Vec<Example>> {
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
        examples in examples(), split in small_split(), sharding in named::<Sharding>(), last in named::<LastGroup>()
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
        examples in examples(), split in small_split(), sharding in named::<Sharding>()
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
    fn sharding_is_a_bijection_on_a_full_group(split in split(), sharding in named::<Sharding>()) {
        let (m, a, d) = (u64::from(split.microbatch.get()), u64::from(split.accumulation.get()), u64::from(split.replicas.get()));
        let places: BTreeSet<(u64, u64)> = (0..split.effective_batch()).map(|p| sharding.place(p, m, a, d)).collect();
        let all: BTreeSet<(u64, u64)> = (0..d).flat_map(|replica| (0..m * a).map(move |place| (replica, place))).collect();
        prop_assert_eq!(places, all);
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
        prop_assert_eq!(batch.supervised(), examples.iter().map(Example::supervised).sum::<u64>());
    }
}

/// A group of given counts `[d][a]` with m examples a microbatch.
fn facts(counts: &[Vec<u64>]) -> GroupFacts {
    let small = |n: usize| u32::try_from(n).expect("few");
    let accumulation = counts.iter().map(Vec::len).max().unwrap_or(0);
    let cell = |replica: usize, index: usize, supervised: u64| MicrobatchFacts {
        replica: small(replica),
        index: small(index),
        examples: 2,
        scored_examples: u32::from(supervised > 0) + u32::from(supervised > 1),
        supervised,
        positions: supervised + 5,
    };
    let cells = counts.iter().enumerate();
    GroupFacts {
        replicas: small(counts.len()),
        nominal_accumulation: small(accumulation),
        microbatches: cells
            .flat_map(|(d, of)| of.iter().enumerate().map(move |(a, &n)| cell(d, a, n)))
            .collect(),
    }
}

const PARAMETERS: usize = 7;

/// Counts `[d][a]` and, for each microbatch, the gradient of its loss sum: 0 where it has no token.
fn group(
    counts: impl Strategy<Value = u64> + Clone + 'static,
) -> impl Strategy<Value = (GroupFacts, Vec<Contribution>)> {
    (1usize..5, 1usize..5)
        .prop_flat_map(move |(d, a)| vec(vec(counts.clone(), a), d))
        .prop_filter("some token", |counts| counts.iter().flatten().any(|&n| n > 0))
        .prop_flat_map(|counts| {
            let facts = facts(&counts);
            let gradients = vec(vec(-10.0..10.0f64, PARAMETERS), facts.microbatches.len());
            (Just(facts), gradients).prop_map(|(facts, gradients)| {
                let contributions = facts.microbatches.iter().zip(gradients).map(|(k, mut gradient)| {
                    for g in &mut gradient {
                        *g *= k.supervised as f64;
                    }
                    Contribution {
                        loss_sum: gradient[0].abs(),
                        gradient,
                    }
                });
                let contributions = contributions.collect();
                (facts, contributions)
            })
        })
}

/// The gradient of the mean over all supervised tokens, as one pass takes it.
fn full_pass(facts: &GroupFacts, contributions: &[Contribution]) -> Vec<f64> {
    let tokens: u64 = facts.microbatches.iter().map(|k| k.supervised).sum();
    let sum = |i: usize| contributions.iter().map(|c| c.gradient[i]).sum::<f64>();
    (0..PARAMETERS).map(|i| sum(i) / tokens as f64).collect()
}

fn agree(a: &[f64], b: &[f64]) -> bool {
    relative_l2(a, b) < 1e-11 || a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-11)
}

proptest! {
    #![proptest_config(support::config(512))]

    #[test]
    fn correct_conventions_give_the_gradient_of_a_full_pass((facts, parts) in group(0u64..40)) {
        let truth = full_pass(&facts, &parts);
        for convention in TABLE.iter().filter(|convention| convention.correct && convention.pass == Pass::AsSplit) {
            prop_assert!(agree(&combine(convention, &facts, &parts), &truth), "{:?}", convention.id);
        }
    }

    #[test]
    fn a_full_batch_is_a_full_pass((facts, parts) in group(0u64..40)) {
        let tokens = facts.supervised();
        let k = MicrobatchFacts { replica: 0, index: 0, supervised: tokens, ..facts.microbatches[0] };
        let whole = GroupFacts { replicas: 1, nominal_accumulation: 1, microbatches: vec![k] };
        let gradient = (0..PARAMETERS).map(|i| parts.iter().map(|c| c.gradient[i]).sum()).collect();
        let once = [Contribution { loss_sum: 0.0, gradient }];
        let ours = combine(Convention::of(ConventionId::FullBatch), &whole, &once);
        prop_assert!(agree(&ours, &full_pass(&facts, &parts)));
    }

    #[test]
    fn equal_counts_make_the_means_agree((facts, parts) in (1u64..40).prop_flat_map(|n| group(n..=n))) {
        let truth = full_pass(&facts, &parts);
        for id in [ConventionId::MeanOfMeans, ConventionId::ReplicaTokenMean, ConventionId::NominalAccumulation] {
            prop_assert!(agree(&combine(Convention::of(id), &facts, &parts), &truth), "{id:?}");
        }
    }

    #[test]
    fn equal_replicas_make_their_means_agree(
        row in vec(0u64..40, 1..5), d in 1usize..5, values in vec(-10.0..10.0f64, 25 * PARAMETERS)
    ) {
        prop_assume!(row.iter().any(|&n| n > 0));
        // Each replica has the same tokens in another order of microbatches.
        let counts: Vec<Vec<u64>> = (0..d).map(|d| { let mut row = row.clone(); let by = d % row.len(); row.rotate_left(by); row }).collect();
        let facts = facts(&counts);
        let parts: Vec<Contribution> = facts.microbatches.iter().zip(values.chunks(PARAMETERS)).map(|(k, g)| Contribution {
            loss_sum: 0.0, gradient: g.iter().map(|g| g * k.supervised as f64).collect(),
        }).collect();
        let ours = combine(Convention::of(ConventionId::ReplicaTokenMean), &facts, &parts);
        prop_assert!(agree(&ours, &full_pass(&facts, &parts)));
    }

    #[test]
    fn wrong_factors_are_multiples_of_right_ones((facts, parts) in group(1u64..40)) {
        let of = |id| combine(Convention::of(id), &facts, &parts);
        let times = |v: &[f64], by: f64| v.iter().map(|x| x * by).collect::<Vec<f64>>();
        let (a, d, n) = (f64::from(facts.nominal_accumulation), f64::from(facts.replicas), facts.supervised() as f64);
        let (right, means) = (of(ConventionId::TokenWeighted), of(ConventionId::MeanOfMeans));
        prop_assert!(agree(&of(ConventionId::DividedTwice), &times(&means, 1.0 / a)));
        prop_assert!(agree(&of(ConventionId::NeverDivided), &times(&means, a)));
        prop_assert!(agree(&of(ConventionId::Sum), &times(&right, n / d)));
        prop_assert!(agree(&of(ConventionId::ReplicasForgotten), &times(&right, 1.0 / d)));
        prop_assert!(agree(&of(ConventionId::ReplicasAndAccumulationForgotten), &times(&right, 1.0 / d / a)));
        prop_assert!(agree(&of(ConventionId::WeightedThenDividedByA), &times(&right, 1.0 / a)));
    }

    #[test]
    fn no_convention_lets_a_nan_reach_the_gradient((facts, parts) in group(0u64..3)) {
        for convention in TABLE {
            prop_assert!(combine(convention, &facts, &parts).iter().all(|g| g.is_finite()), "{:?}", convention.id);
        }
    }

    #[test]
    fn example_means_weigh_each_example_once(examples in examples()) {
        let rows: Vec<&Example> = examples.iter().collect();
        let batch = PaddedBatch::new(&rows);
        let weights = token_weights(Convention::of(ConventionId::ExampleMean).token_weights, &batch);
        for (row, example) in weights.chunks(batch.width).zip(&examples) {
            let wanted = if example.supervised() > 0 { 1.0 } else { 0.0 };
            prop_assert!((row.iter().sum::<f64>() - wanted).abs() < 1e-12);
        }
        let weights = token_weights(Convention::of(ConventionId::TokenWeighted).token_weights, &batch);
        prop_assert!((weights.iter().sum::<f64>() - batch.supervised() as f64).abs() < 1e-12);
    }

    #[test]
    fn a_group_loss_lies_between_its_microbatch_means(sums in vec((0.0..100.0f64, 0u64..50), 1..20)) {
        let sums: Vec<(f64, u64)> = sums.into_iter().map(|(mean, n)| (mean * n as f64, n)).collect();
        let loss = GroupLoss::from_sums(sums.iter().copied());
        let means: Vec<f64> = sums.iter().filter(|s| s.1 > 0).map(|s| s.0 / s.1 as f64).collect();
        prop_assert_eq!(loss.means, means.len() as u64);
        prop_assert_eq!(loss.supervised, sums.iter().map(|s| s.1).sum::<u64>());
        prop_assert_eq!(loss.token_weighted().is_some(), !means.is_empty());
        let (low, high) = means.iter().fold((f64::MAX, f64::MIN), |(low, high), m| (low.min(*m), high.max(*m)));
        for number in loss.token_weighted().into_iter().chain(loss.mean_of_means()) {
            prop_assert!(number >= low - 1e-9 && number <= high + 1e-9);
        }
    }

    #[test]
    fn equal_counts_make_both_losses_one(means in vec(0.0..100.0f64, 1..20), n in 1u64..50) {
        let loss = GroupLoss::from_sums(means.iter().map(|mean| (mean * n as f64, n)));
        let (weighted, unweighted) = (loss.token_weighted().expect("tokens"), loss.mean_of_means().expect("tokens"));
        prop_assert!((weighted - unweighted).abs() <= 1e-12 * weighted.max(1.0));
    }

    #[test]
    fn a_schedule_rises_to_its_peak_and_falls_to_nothing(peak in 1e-6..1.0f64, warmup in 0u32..50, decay in 1u32..50) {
        let schedule = Schedule { shape: ScheduleShape::LinearWarmupDecay, peak, warmup, total: warmup + decay };
        let rates: Vec<f64> = (0..=u64::from(warmup + decay)).map(|u| schedule.rate(u)).collect();
        let top = warmup as usize;
        prop_assert!(rates[..top].windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert!(rates[top..].windows(2).all(|pair| pair[0] > pair[1]));
        prop_assert_eq!(rates[top], peak);
        prop_assert!(rates.iter().all(|&rate| (0.0..=peak).contains(&rate)));
        prop_assert_eq!(*rates.last().expect("some"), 0.0);
        prop_assert_eq!(schedule.rate(u64::MAX), 0.0);
        let constant = Schedule { shape: ScheduleShape::Constant, ..schedule };
        prop_assert_eq!(constant.rate(u64::from(warmup)), peak);
    }

    #[test]
    fn replicas_times_model_parallel_is_the_world(world in 1u32..2000, t in 1u32..9, p in 1u32..9, c in 1u32..9) {
        let n = |x| NonZeroU32::new(x).expect("no zero");
        let model_parallel = t * p * c;
        match (Topology { world: n(world), tensor: n(t), pipeline: n(p), context: n(c) }).replicas() {
            Ok(d) => prop_assert_eq!(d.get() * model_parallel, world),
            Err(refused) => {
                prop_assert!(world % model_parallel != 0);
                prop_assert_eq!((refused.world, refused.model_parallel), (world, u64::from(model_parallel)));
            }
        }
    }

    #[test]
    fn a_split_multiplies(split in split()) {
        let (m, a, d) = (split.microbatch.get(), split.accumulation.get(), split.replicas.get());
        prop_assert_eq!(split.effective_batch(), u64::from(m * a * d));
        prop_assert_eq!(split.per_replica(), u64::from(m * a));
        prop_assert_eq!(split.microbatches(), u64::from(a * d));
    }
}

#[test]
fn every_convention_has_exactly_one_row() {
    for (id, name) in ConventionId::NAMES {
        assert_eq!(TABLE.iter().filter(|row| row.id == *id).count(), 1, "{name}");
        assert_eq!(Convention::of(*id).id, *id);
    }
    assert_eq!(TABLE.len(), ConventionId::NAMES.len());
    let formulas: BTreeSet<&str> = TABLE.iter().map(|row| row.formula).collect();
    assert_eq!(formulas.len(), TABLE.len(), "no two rows share a formula");
}

#[test]
fn a_topology_as_large_as_it_gets_does_not_overflow() {
    let most = NonZeroU32::MAX;
    let topology = Topology {
        world: most,
        tensor: most,
        pipeline: most,
        context: most,
    };
    assert!(topology.replicas().is_err());
}

#[test]
fn the_shardings_deal_as_their_models_do() {
    // m 2, A 2, D 2: eight examples.
    let deal = |sharding: Sharding| (0..8).map(|p| sharding.place(p, 2, 2, 2).0).collect::<Vec<u64>>();
    assert_eq!(deal(Sharding::Interleaved), [0, 1, 0, 1, 0, 1, 0, 1]);
    assert_eq!(deal(Sharding::Microbatches), [0, 0, 1, 1, 0, 0, 1, 1]);
    assert_eq!(deal(Sharding::Blocks), [0, 0, 0, 0, 1, 1, 1, 1]);
}
