//! Ends of epochs: groups with fewer microbatches than A.

use microbatch_lab::batch::{
    Convention, ConventionId, Fault, FaultId, Faults, GroupFacts, LastGroup, MicrobatchFacts, Recipe, Split,
    oracle::{Accumulation, Grads},
    recipe::Tail,
    scheduler_clock::{Done, SchedulerStep},
};

use super::{Case, count::epoch};

fn split(m: u32, a: u32, d: u32) -> Split {
    Split::new(m, a, d).expect("no zero")
}

/// By how much a microbatch's mean is divided.
fn divisor(id: ConventionId, facts: &GroupFacts, k: &MicrobatchFacts) -> f64 {
    1.0 / (Convention::of(id).coefficient(facts, k) * k.supervised as f64)
}

pub(crate) fn nominal_a(case: &Case) {
    case.is_named_by(Convention::of(ConventionId::NominalAccumulation).sources);
    let (microbatches, a) = (case.whole("/given/microbatches"), case.whole("/given/A"));
    let plan = epoch(microbatches, split(1, a, 1), LastGroup::Process);
    assert_eq!(plan.groups.len(), 2);
    let last = &plan.groups[1];
    assert!(last.partial && last.microbatches.len() == 4);
    let facts = last.facts();
    for k in &facts.microbatches {
        let (wrong, right) = (
            divisor(ConventionId::NominalAccumulation, &facts, k),
            divisor(ConventionId::MeanOfMeans, &facts, k),
        );
        assert!((wrong - case.number("/reported/divisor_of_last_4")).abs() < 1e-9);
        assert!((right - case.number("/right/divisor_of_last_4")).abs() < 1e-12);
        // Each has one token here, so the token mean divides alike.
        assert!((divisor(ConventionId::TokenWeighted, &facts, k) - right).abs() < 1e-12);
    }
    // In the full group both are the same.
    let full = plan.groups[0].facts();
    let k = &full.microbatches[0];
    let apart = divisor(ConventionId::NominalAccumulation, &full, k) - divisor(ConventionId::MeanOfMeans, &full, k);
    assert!(apart.abs() < 1e-9);
}

pub(crate) fn two_denominators(case: &Case) {
    let row = Convention::of(ConventionId::TwoDenominators);
    case.is_named_by(row.sources);
    case.is_named_by(Fault::of(FaultId::TailCarried).sources);
    let of = |key: &str| case.whole(&format!("/given/{key}"));
    let updates = |last| epoch(of("examples"), split(of("m"), of("A"), 1), last).groups.len() * of("epochs") as usize;
    assert_eq!(updates(LastGroup::Process), case.whole("/right/updates_ceil") as usize);
    assert_eq!(updates(LastGroup::Drop), case.whole("/right/updates_floor") as usize);
    assert_eq!(updates(LastGroup::Drop), case.whole("/reported/updates") as usize);

    // One update of four microbatches: two with the count of one epoch's end, two with that of the next one's start. How the
    // tokens lie inside each half is not reported and changes no denominator.
    let denominators = case.numbers("/given/num_items_in_one_update");
    let supervised = [100, 179, 300, 170];
    let microbatch = |(index, &supervised): (u32, &u64)| MicrobatchFacts {
        replica: 0,
        index,
        examples: of("m"),
        scored_examples: of("m"),
        supervised,
        positions: supervised,
        unpadded: supervised,
    };
    let facts = GroupFacts {
        replicas: 1,
        nominal_accumulation: of("A"),
        microbatches: (0u32..).zip(&supervised).map(microbatch).collect(),
    };
    assert_eq!(facts.microbatches.len(), denominators.len());
    for (k, denominator) in facts.microbatches.iter().zip(&denominators) {
        assert!((1.0 / row.coefficient(&facts, k) - denominator).abs() < 1e-9);
        let right = 1.0 / Convention::of(ConventionId::TokenWeighted).coefficient(&facts, k);
        assert!(
            (right - (denominators[0] + denominators[2])).abs() < 1e-9,
            "one for all"
        );
    }
}

/// Adds a group in which each microbatch's contribution is 1.
fn add(grads: &mut Grads, facts: &GroupFacts) {
    let ones = vec![vec![1.0]; facts.microbatches.len()];
    grads.accumulate(Accumulation::default(), facts, &ones);
}

pub(crate) fn carried(case: &Case) {
    let row = Fault::of(FaultId::TailCarried);
    case.is_named_by(row.sources);
    let of = |key: &str| case.whole(&format!("/given/{key}"));
    let plan = epoch(of("examples"), split(of("m"), of("A"), of("D")), LastGroup::Process);
    let (full, partial): (Vec<_>, Vec<_>) = plan.groups.iter().partition(|group| !group.partial);
    assert_eq!(full.len(), case.whole("/right/full_groups") as usize);
    let tail = partial[0];
    assert_eq!(
        (partial.len(), tail.microbatches.len()),
        (1, case.whole("/right/last_group_microbatches") as usize)
    );
    let all: usize = plan.groups.iter().map(|group| group.microbatches.len()).sum();
    assert_eq!(all, case.whole("/right/microbatches") as usize);

    // Right: the tail has an update of its own, and the next epoch begins with nothing in `.grad`.
    assert_eq!(Recipe::default().tail, Tail::Processed);
    let mut grads = Grads::zeros(1, 1);
    add(&mut grads, &tail.facts());
    assert!((grads.replicas[0][0] - f64::from(case.whole("/right/last_group_microbatches"))).abs() < 1e-12);
    grads.after_update(Accumulation::default());
    add(&mut grads, &full[0].facts());
    assert!((grads.replicas[0][0] - f64::from(of("A"))).abs() < 1e-12);

    // Reported: no update at the end, so the next one has the tail's gradient in it, too.
    let carried = Recipe::with(Faults::NONE.and(FaultId::TailCarried).expect("one"));
    assert_eq!(carried.tail, Tail::Carried);
    let mut grads = Grads::zeros(1, 1);
    add(&mut grads, &tail.facts());
    add(&mut grads, &full[0].facts());
    let microbatches = grads.replicas[0][0];
    assert!(microbatches > f64::from(of("A")), "{microbatches}");
    assert!((microbatches - 26.0).abs() < 1e-12, "10 and 16");
}

pub(crate) fn dropped(case: &Case) {
    case.is_named_by(Fault::of(FaultId::TailDropped).sources);
    let (microbatches, a) = (case.whole("/given/microbatches"), case.whole("/given/A"));
    let plan = |last| epoch(microbatches, split(1, a, 1), last);
    let (processed, dropped) = (plan(LastGroup::Process), plan(LastGroup::Drop));
    assert_eq!(dropped.groups.len(), case.whole("/reported/updates") as usize);
    assert_eq!(dropped.dropped.len(), microbatches as usize, "the plan names them");
    assert_eq!(processed.groups.len(), case.whole("/right/updates") as usize);
    let tail = &processed.groups[0];
    assert_eq!(
        tail.microbatches.len(),
        case.whole("/right/last_group_microbatches") as usize
    );
    // A lane with the fault leaves out the groups that are partial: here every one.
    let recipe = Recipe::with(Faults::NONE.and(FaultId::TailDropped).expect("one"));
    assert_eq!(recipe.tail, Tail::Dropped);
    assert!(processed.groups.iter().all(|group| group.partial));
    // And its rate moves on all the same, where the scheduler counts microbatches.
    case.is_named_by(Fault::of(FaultId::SchedulerEachMicrobatch).sources);
    let done = Done {
        microbatches: microbatches.into(),
        ..Done::default()
    };
    assert_eq!(SchedulerStep::AppliedUpdate.steps(done, 1), 0);
    assert_eq!(SchedulerStep::Microbatch.steps(done, 1), u64::from(microbatches));
}
