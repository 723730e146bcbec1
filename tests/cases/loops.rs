//! Steps of the loop in the wrong place.

use microbatch_lab::batch::{
    Fault, FaultId, Faults, GroupFacts, LaneRule, MicrobatchFacts, Recipe, Schedule, ScheduleShape, Symptom,
    oracle::{Accumulation, Grads},
    recipe::{Graph, Horizon, Unscale},
    scaler::{Attempt, Scaler, ScalerConfig, ScalerError},
    schedule::WarmupStart,
    scheduler_clock::Done,
};

use super::Case;

/// The loop with one fault, whose row names the report.
fn faulty(case: &Case, id: FaultId) -> Recipe {
    case.is_named_by(Fault::of(id).sources);
    Recipe::with(Faults::NONE.and(id).expect("one"))
}

fn accumulation(recipe: Recipe, max_norm: Option<f64>) -> Accumulation {
    Accumulation {
        zero_grad: recipe.zero_grad,
        sync: recipe.sync,
        clip: max_norm.map(|norm| (recipe.clip_at, norm)),
    }
}

/// A group of A microbatches on each of D replicas.
fn group(d: u32, a: u32) -> GroupFacts {
    let microbatch = |index: u32, replica: u32| MicrobatchFacts {
        replica,
        index,
        examples: 1,
        scored_examples: 1,
        supervised: 1,
        positions: 1,
        unpadded: 1,
    };
    GroupFacts {
        replicas: d,
        nominal_accumulation: a,
        microbatches: (0..a)
            .flat_map(|index| (0..d).map(move |replica| microbatch(index, replica)))
            .collect(),
    }
}

pub(crate) fn sync_on_the_first(case: &Case) {
    let given: Vec<Vec<f64>> = (0..2)
        .map(|d| case.numbers(&format!("/given/gradients_by_replica/{d}")))
        .collect();
    let facts = group(2, 2);
    let parts: Vec<Vec<f64>> = facts
        .microbatches
        .iter()
        .map(|k| vec![given[k.replica as usize][k.index as usize]])
        .collect();
    let gradients = |recipe: Recipe| {
        let mut grads = Grads::zeros(2, 1);
        grads.accumulate(accumulation(recipe, None), &facts, &parts);
        assert_eq!(grads.exchanges, 1);
        grads.replicas.concat()
    };
    assert_eq!(
        gradients(faulty(case, FaultId::SyncFirstMicrobatch)),
        case.numbers("/reported/gradients")
    );
    assert_eq!(gradients(Recipe::default()), case.numbers("/right/gradients"));
}

pub(crate) fn clip_each_microbatch(case: &Case) {
    let parts: Vec<Vec<f64>> = (0..2).map(|a| case.numbers(&format!("/given/gradients/{a}"))).collect();
    let (facts, max_norm) = (group(1, 2), case.number("/given/max_norm"));
    let gradient = |recipe: Recipe| {
        let mut grads = Grads::zeros(1, 2);
        grads.accumulate(accumulation(recipe, Some(max_norm)), &facts, &parts);
        grads.replicas.concat()
    };
    for (computed, wanted) in [
        (
            gradient(faulty(case, FaultId::ClipRunningGradient)),
            case.numbers("/reported/gradient"),
        ),
        (gradient(Recipe::default()), case.numbers("/right/gradient")),
    ] {
        for (computed, wanted) in computed.iter().zip(&wanted) {
            assert!((computed - wanted).abs() < 5e-4, "{computed} for {wanted}");
        }
    }
}

pub(crate) fn unscale_twice(case: &Case) {
    assert_eq!(faulty(case, FaultId::UnscaleTwice).unscale, Unscale::Twice);
    let config = ScalerConfig {
        init_scale: 65536.0,
        growth_factor: 2.0,
        backoff_factor: 0.5,
        growth_interval: 2000,
    };
    assert!((f64::from(config.init_scale) - case.number("/given/loss_scale")).abs() < 1e-9);
    let mut scaler = Scaler::new(config);
    let mut calls = 0;
    let error = loop {
        match scaler.unscale(true) {
            Ok(factor) => {
                assert!((factor - 1.0 / case.number("/given/loss_scale")).abs() < 1e-20);
                calls += 1;
            }
            Err(error) => break error,
        }
    };
    assert_eq!(
        (calls, error),
        (
            case.whole("/right/unscale_calls_per_group"),
            ScalerError::AlreadyUnscaled
        )
    );
    let torch = case.at("/reported/error").as_str().expect("a text");
    for said in ["unscale", "already", "since the last update"] {
        assert!(torch.contains(said) && error.to_string().contains(said), "{error}");
    }
    // Once a group is enough for the next.
    assert_eq!((scaler.step(), scaler.update()), (Ok(Attempt::Apply), Ok(())));
    assert!(scaler.unscale(true).is_ok());
}

pub(crate) fn scheduler_after_skip(case: &Case) {
    let (attempts, skipped) = (case.whole("/given/attempts"), case.whole("/given/skipped"));
    let mut scaler = Scaler::new(ScalerConfig {
        init_scale: 1024.0,
        growth_factor: 2.0,
        backoff_factor: 0.5,
        growth_interval: 2000,
    });
    let mut done = Done::default();
    for attempt in 0..attempts {
        // The first ones overflow, as a scale that starts too high makes them.
        let finite = attempt >= skipped;
        assert!(scaler.unscale(finite).is_ok());
        done.attempts += 1;
        done.applied += u64::from(scaler.step() == Ok(Attempt::Apply));
        assert_eq!(scaler.update(), Ok(()));
    }
    let steps = |recipe: Recipe| recipe.scheduler_step.unwrap_or_default().steps(done, 1);
    let wrong = steps(faulty(case, FaultId::SchedulerEachAttempt));
    assert_eq!(wrong, u64::from(case.whole("/reported/scheduler_steps")));
    assert_eq!(
        steps(Recipe::default()),
        u64::from(case.whole("/right/scheduler_steps"))
    );
}

pub(crate) fn warmup_in_another_unit(case: &Case) {
    let of = |key: &str| case.whole(&format!("/given/{key}"));
    case.is_named_by(Fault::of(FaultId::SchedulerEachMicrobatch).sources);
    assert_eq!(
        faulty(case, FaultId::HorizonInMicrobatches).horizon,
        Horizon::Microbatches
    );
    let meant = Schedule {
        shape: ScheduleShape::LinearWarmupDecay,
        peak: 1.0,
        warmup: of("warmup"),
        total: 10 * of("warmup"),
        start: WarmupStart::Zero,
    };
    let first_peak = |schedule: Schedule, steps_an_update: u32| {
        (0..=of("warmup")).find(|&update| schedule.rate(u64::from(update * steps_an_update)) >= 1.0)
    };
    assert_eq!(first_peak(meant, 1), Some(case.whole("/right/lr_peak_at_update")));
    // The horizon is written in microbatches, A an update; the scheduler is stepped by every process.
    let wrong = first_peak(meant.in_microbatches(of("A")), of("gpus"));
    assert_eq!(wrong, Some(case.whole("/reported/lr_peak_at_update")));
}

pub(crate) fn zero_at_the_start(case: &Case) {
    let a = case.whole("/given/A");
    let facts = group(1, a);
    // Microbatch k alone moves parameter k.
    let parts: Vec<Vec<f64>> = (0..a)
        .map(|k| (0..a).map(|i| f64::from(u32::from(i == k))).collect())
        .collect();
    let counted = |recipe: Recipe| {
        let mut grads = Grads::zeros(1, a as usize);
        grads.accumulate(accumulation(recipe, None), &facts, &parts);
        grads.replicas[0].iter().filter(|g| **g != 0.0).count()
    };
    let wrong = counted(faulty(case, FaultId::ZeroGradBeforeBackward));
    assert_eq!(wrong, case.whole("/reported/effective_A") as usize);
    assert_eq!(counted(Recipe::default()), case.whole("/right/effective_A") as usize);
}

pub(crate) fn retained_graphs(case: &Case) {
    let row = Fault::of(FaultId::GraphRetained);
    assert_eq!(case.at("/given/code"), row.formula);
    assert_eq!(row.symptom, Symptom::MemoryGrows);
    assert_eq!(faulty(case, FaultId::GraphRetained).graph, Graph::Retained);
    assert_eq!(Recipe::default().graph, Graph::Freed);
    let lane = LaneRule {
        faults: Faults::NONE.and(FaultId::GraphRetained).expect("one"),
        ..microbatch_lab::batch::ConventionId::TokenWeighted.into()
    };
    assert!(!lane.correct());
}
