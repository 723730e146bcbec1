//! Learning rates and what steps them.

use std::f64::consts::PI;

use microbatch_lab::batch::{
    Schedule, ScheduleShape,
    schedule::WarmupStart,
    scheduler_clock::{Done, SchedulerStep},
};
use proptest::prelude::*;

use super::support;

const COSINE: Schedule = Schedule {
    shape: ScheduleShape::CosineWarmupDecay,
    peak: 0.1,
    warmup: 10,
    total: 100,
    start: WarmupStart::FirstStep,
};

#[test]
fn a_cosine_at_points_worked_out_by_hand() {
    // 90 steps of decay; cos of 0, 60, 90, 120 and 180 degrees.
    let cases = [(10, 0.1), (40, 0.075), (55, 0.05), (70, 0.025), (100, 0.0), (1000, 0.0)];
    for (steps, rate) in cases {
        assert!(
            (COSINE.rate(steps) - rate).abs() < 1e-16,
            "{steps}: {}",
            COSINE.rate(steps)
        );
    }
    // cos(45 degrees) = 0.70710678..., an eighth of a turn after 22.5 of 90 steps.
    let longer = Schedule { total: 190, ..COSINE };
    assert!((longer.rate(55) - 0.085_355_339_059_327_38).abs() < 1e-16);
}

#[test]
fn a_linear_decay_at_points_worked_out_by_hand() {
    let linear = Schedule {
        shape: ScheduleShape::LinearWarmupDecay,
        ..COSINE
    };
    for (steps, rate) in [(10, 0.1), (19, 0.09), (55, 0.05), (91, 0.01), (100, 0.0), (101, 0.0)] {
        assert!(
            (linear.rate(steps) - rate).abs() < 1e-16,
            "{steps}: {}",
            linear.rate(steps)
        );
    }
    let constant = Schedule {
        shape: ScheduleShape::Constant,
        ..COSINE
    };
    for steps in [0, 5, 50, 100, 5000] {
        assert_eq!(constant.rate(steps), 0.1, "no warm-up and no decay");
    }
}

#[test]
fn a_warm_up_starts_at_nothing_or_at_its_first_step() {
    let zero = Schedule {
        start: WarmupStart::Zero,
        ..COSINE
    };
    for shape in [ScheduleShape::LinearWarmupDecay, ScheduleShape::CosineWarmupDecay] {
        for (steps, from_zero, from_first) in [
            (0, 0.0, 0.01),
            (1, 0.01, 0.02),
            (4, 0.04, 0.05),
            (9, 0.09, 0.1),
            (10, 0.1, 0.1),
        ] {
            let of = |schedule: Schedule| Schedule { shape, ..schedule }.rate(steps);
            assert!((of(zero) - from_zero).abs() < 1e-16, "{shape:?} {steps}");
            assert!((of(COSINE) - from_first).abs() < 1e-16, "{shape:?} {steps}");
        }
    }
    assert_eq!(WarmupStart::default(), WarmupStart::FirstStep);
}

#[test]
fn a_schedule_without_decay_ends_at_once() {
    for shape in [ScheduleShape::LinearWarmupDecay, ScheduleShape::CosineWarmupDecay] {
        let all_warmup = Schedule {
            shape,
            total: 10,
            ..COSINE
        };
        assert!((all_warmup.rate(9) - 0.1).abs() < 1e-16);
        assert_eq!(all_warmup.rate(10), 0.0);
        let no_warmup = Schedule {
            shape,
            warmup: 0,
            ..COSINE
        };
        assert_eq!(no_warmup.rate(0), 0.1);
    }
}

proptest! {
    #![proptest_config(support::config(512))]

    #[test]
    fn a_cosine_is_its_formula(peak in 1e-6..1.0f64, warmup in 0u32..50, decay in 1u32..80, steps in 0u64..160) {
        let total = warmup + decay;
        let schedule = Schedule { shape: ScheduleShape::CosineWarmupDecay, peak, warmup, total, start: WarmupStart::Zero };
        let wanted = if steps < u64::from(warmup) {
            peak * steps as f64 / f64::from(warmup)
        } else {
            let t = (steps as f64 - f64::from(warmup)) / f64::from(decay);
            peak * (1.0 + (PI * t.min(1.0)).cos()) / 2.0
        };
        prop_assert!((schedule.rate(steps) - wanted).abs() <= 1e-15 * peak.max(wanted));
    }

    #[test]
    fn what_is_counted_in_microbatches_and_stepped_by_them_is_right(
        warmup in 0u32..50, decay in 1u32..80, a in 1u32..9, update in 0u64..200
    ) {
        let plain = Schedule { shape: ScheduleShape::LinearWarmupDecay, peak: 1.0, warmup, total: warmup + decay, start: WarmupStart::Zero };
        let scaled = plain.in_microbatches(a);
        prop_assert_eq!((scaled.warmup, scaled.total), (warmup * a, (warmup + decay) * a));
        prop_assert_eq!((scaled.peak, scaled.shape, scaled.start), (plain.peak, plain.shape, plain.start));
        prop_assert!((scaled.rate(update * u64::from(a)) - plain.rate(update)).abs() < 1e-15);
    }
}

#[test]
fn each_clock_counts_its_own_unit() {
    let done = Done {
        applied: 5,
        attempts: 7,
        microbatches: 28,
    };
    assert_eq!(SchedulerStep::AppliedUpdate.steps(done, 4), 5);
    assert_eq!(SchedulerStep::Attempt.steps(done, 4), 7);
    // The last of the group's four is stepped after the optimizer.
    assert_eq!(SchedulerStep::Microbatch.steps(done, 4), 31);
    assert_eq!(SchedulerStep::BeforeUpdate.steps(done, 4), 8);
    assert_eq!(SchedulerStep::Microbatch.steps(Done::default(), 1), 0);
    assert_eq!(SchedulerStep::Microbatch.steps(Done::default(), 0), 0);
}

#[test]
fn a_horizon_too_long_to_count_stays_at_the_longest() {
    let long = Schedule {
        total: u32::MAX / 2,
        ..COSINE
    };
    assert_eq!(long.in_microbatches(4).total, u32::MAX);
    assert_eq!(long.in_microbatches(4).warmup, 40);
}
