//! Losses and gradients that are too large, too small, or no number.

use microbatch_lab::batch::{
    Convention, ConventionId, Example, ExampleId, FaultId, Faults, GroupFacts, GroupLoss, IGNORE_INDEX, LastGroup,
    MicrobatchFacts, Recipe, Sharding, Split,
    empty_mean::EmptyMean,
    logged::logged_loss,
    oracle::{Contribution, combine, norm},
    plan::{EpochStart, plan_epoch},
    recipe::Logged,
};

use super::Case;

/// D replicas of A microbatches with these counts, `counts[d][a]`.
fn group(counts: &[Vec<u64>]) -> GroupFacts {
    let mut microbatches = Vec::new();
    for (replica, row) in (0u32..).zip(counts) {
        for (index, &supervised) in (0u32..).zip(row) {
            microbatches.push(MicrobatchFacts {
                replica,
                index,
                examples: 1,
                scored_examples: u32::from(supervised > 0),
                supervised,
                positions: supervised + 2,
                unpadded: supervised + 1,
            });
        }
    }
    let count = |n: usize| u32::try_from(n).expect("few");
    GroupFacts {
        replicas: count(counts.len()),
        nominal_accumulation: count(counts.iter().map(Vec::len).max().unwrap_or(0)),
        microbatches,
    }
}

fn even(d: u32, a: u32) -> GroupFacts {
    group(&vec![vec![10; a as usize]; d as usize])
}

/// What a right loop under this convention writes into its log where a microbatch's tokens have this loss.
fn logged(id: ConventionId, group: &GroupFacts, loss_of: impl Fn(&MicrobatchFacts) -> f64) -> f64 {
    logged_by(&Recipe::default(), id, group, loss_of)
}

fn logged_by(recipe: &Recipe, id: ConventionId, group: &GroupFacts, loss_of: impl Fn(&MicrobatchFacts) -> f64) -> f64 {
    let sums: Vec<f64> = group
        .microbatches
        .iter()
        .map(|k| loss_of(k) * k.supervised as f64)
        .collect();
    logged_loss(Convention::of(id), recipe, group, &sums)
}

/// The report's number, to as many digits as it was written with.
fn rounds_to(computed: f64, reported: f64, unit: f64) -> bool {
    (computed - reported).abs() <= unit / 2.0 + 1e-9
}

pub(crate) fn never_divided(case: &Case) {
    case.is_named_by(Convention::of(ConventionId::NeverDivided).sources);
    let (reported, right) = (
        case.numbers("/reported/initial_loss"),
        case.numbers("/right/initial_loss_divided_by_A"),
    );
    for (i, (reported, right)) in reported.iter().zip(&right).enumerate() {
        let of = |key: &str| case.whole(&format!("/given/runs/{i}/{key}"));
        let (d, m, a) = (of("D"), of("m"), of("A"));
        let split = Split::new(m, a, d).expect("no zero");
        assert_eq!(split.effective_batch(), u64::from(case.whole("/given/effective_batch")));
        let facts = even(d, a);
        let unit = f64::from(a) * 0.01;
        let wrong = logged(ConventionId::NeverDivided, &facts, |_| *right);
        assert!(rounds_to(wrong, *reported, unit), "{wrong} for {reported}");
        for id in [ConventionId::MeanOfMeans, ConventionId::TokenWeighted] {
            assert!(rounds_to(logged(id, &facts, |_| *right), *right, 0.0), "{id:?}");
        }
    }
}

pub(crate) fn grows_with_a(case: &Case) {
    case.is_named_by(Convention::of(ConventionId::NeverDivided).sources);
    let (a, reported) = (case.numbers("/given/A"), case.numbers("/reported/loss"));
    // One loss a token explains both reports; they were written without decimals.
    let loss = (reported[0] + reported[1]) / (a[0] + a[1]);
    for (a, reported) in a.iter().zip(&reported) {
        let facts = even(1, if *a < 10.0 { 8 } else { 32 });
        assert!((f64::from(facts.nominal_accumulation) - a).abs() < 1e-12);
        let wrong = logged(ConventionId::NeverDivided, &facts, |_| loss);
        assert!((wrong - reported).abs() < 0.5, "{wrong} for {reported}");
        let right = logged(ConventionId::MeanOfMeans, &facts, |_| loss);
        assert!((right - loss).abs() < 1e-12, "independent of A");
    }
}

pub(crate) fn by_one_factor(case: &Case) {
    let factor = case.number("/reported/loss") / case.number("/right/loss");
    let of_norm = case.number("/reported/grad_norm") / case.number("/right/grad_norm");
    assert!((factor - of_norm).abs() < 1e-3 && rounds_to(factor, 5.0, 0.01));
    // With A = 1 and D = 5, dividing by N alone and by N / D differ by that factor, in the loss and in the norm alike.
    let facts = even(5, case.whole("/given/A"));
    let parts: Vec<Contribution> = facts
        .microbatches
        .iter()
        .map(|k| Contribution {
            loss_sum: 0.0,
            gradient: vec![f64::from(k.replica) + 1.0, -2.0],
        })
        .collect();
    let of = |id| {
        let convention = Convention::of(id);
        let loss = logged(id, &facts, |_| case.number("/right/loss"));
        (loss, norm(&combine(convention, &facts, &parts)))
    };
    let (large, small) = (of(ConventionId::TokenWeighted), of(ConventionId::ReplicasForgotten));
    assert!((large.0 / small.0 - factor).abs() < 1e-3 && (large.1 / small.1 - factor).abs() < 1e-3);
}

pub(crate) fn divided_in_the_log(case: &Case) {
    let faults = Faults::NONE.and(FaultId::LogDividedTwice).expect("one");
    case.is_named_by(faults.rows().next().expect("one").sources);
    // In the log only: everything else of the loop is the right one's.
    let right = Recipe::default();
    assert_eq!(
        Recipe::with(faults),
        Recipe {
            logged: Logged::DividedTwice,
            ..right
        }
    );
    let facts = even(1, case.whole("/given/A"));
    let log = |recipe: &Recipe| {
        logged_by(recipe, ConventionId::MeanOfMeans, &facts, |_| {
            case.number("/right/loss")
        })
    };
    assert!(rounds_to(log(&right), case.number("/right/loss"), 0.0));
    let wrong = log(&Recipe::with(faults));
    assert!(rounds_to(wrong, case.number("/reported/logged_loss"), 0.01), "{wrong}");
}

pub(crate) fn replica_means(case: &Case) {
    case.is_named_by(Convention::of(ConventionId::ReplicaTokenMean).sources);
    let (reported, right) = (case.number("/reported/loss"), case.number("/right/loss"));
    // D = 2, A = 2. Replica 0 has more tokens, at a higher loss: its share of the mean is too small.
    let facts = group(&[vec![30, 24], vec![9, 12]]);
    assert_eq!(
        (facts.replicas, facts.nominal_accumulation),
        (case.whole("/given/D"), case.whole("/given/A"))
    );
    let loss_of = |k: &MicrobatchFacts| if k.replica == 0 { 1.85 } else { 1.52 };
    let token_mean = logged(ConventionId::TokenWeighted, &facts, loss_of);
    let mean_of_replicas = logged(ConventionId::ReplicaTokenMean, &facts, loss_of);
    assert!((token_mean - (54.0 * 1.85 + 21.0 * 1.52) / 75.0).abs() < 1e-12);
    assert!((mean_of_replicas - f64::midpoint(1.85, 1.52)).abs() < 1e-12);
    assert_eq!(mean_of_replicas < token_mean, reported < right);
}

pub(crate) fn mean_of_shares(case: &Case) {
    case.is_named_by(Convention::of(ConventionId::ReplicasForgotten).sources);
    assert_eq!(case.at("/reported/initial_loss"), "ln(V)/n");
    for (n, vocabulary) in [(2, 50_257.0f64), (4, 32_000.0), (8, 128_256.0)] {
        let facts = even(n, 1);
        let start = |_: &MicrobatchFacts| vocabulary.ln();
        let wrong = logged(ConventionId::ReplicasForgotten, &facts, start);
        assert!((wrong - vocabulary.ln() / f64::from(n)).abs() < 1e-12);
        let right = logged(ConventionId::TokenWeighted, &facts, start);
        assert!((right - vocabulary.ln()).abs() < 1e-12);
    }
}

pub(crate) fn all_masked(case: &Case) {
    let masked = case.numbers("/given/labels_in_microbatch");
    assert!(
        masked
            .iter()
            .all(|label| (label - f64::from(IGNORE_INDEX)).abs() < 1e-12)
    );
    let example = |id: u32, labels: Vec<i32>| Example {
        id: ExampleId(id),
        tokens: vec![1; labels.len()],
        labels,
    };
    let examples = [example(0, vec![IGNORE_INDEX; masked.len()]), example(1, vec![2, 3, 4])];
    let split = Split::new(1, 2, 1).expect("no zero");
    let start = EpochStart {
        epoch: 0,
        first_group: 0,
    };
    let order = [ExampleId(0), ExampleId(1)];
    let plan = plan_epoch(
        &examples,
        &order,
        split,
        Sharding::Interleaved,
        LastGroup::Process,
        start,
    );
    let facts = plan.groups[0].facts();
    let (empty, scored) = (&facts.microbatches[0], &facts.microbatches[1]);
    assert_eq!(empty.supervised, u64::from(case.whole("/right/denominator")));
    // Reported: its mean is no number, however it is written but for the last.
    for mean in [EmptyMean::Reduction, EmptyMean::SumOverCount, EmptyMean::HandMasked] {
        assert!(mean.loss(0.0, empty.supervised).is_nan(), "{mean:?}");
    }
    assert!(
        Convention::of(ConventionId::MeanOfMeans)
            .backpropagated_loss(&facts, empty, 0.0)
            .is_nan()
    );
    // Right: a group is weighed as if it were not there.
    let weighted = Convention::of(ConventionId::TokenWeighted);
    let numerator = weighted.backpropagated_loss(&facts, empty, 0.0);
    assert!((numerator - case.number("/right/numerator")).abs() < 1e-300);
    let alone = group(&[vec![3]]);
    let same = weighted.coefficient(&facts, scored) - weighted.coefficient(&alone, &alone.microbatches[0]);
    assert!(same.abs() < 1e-300);
    let loss = GroupLoss::from_sums([(0.0, empty.supervised), (6.0, scored.supervised)]);
    assert_eq!(loss, GroupLoss::from_sums([(6.0, 3)]));
}
