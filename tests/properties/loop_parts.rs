//! The parts of a loop by hand: clipping, exchange, zero_grad, the mean of nothing, the loss scale, counters.

use microbatch_lab::batch::{
    ConventionId, Counters, FaultId, Faults, LaneRule, Recipe, Unit,
    clip::{ClipAt, ClipOrder, coefficient},
    empty_mean::EmptyMean,
    no_sync::SyncMode,
    recipe::OptimizerStep,
    scaler::{Attempt, ScaleInGroup, Scaler, ScalerConfig, ScalerError},
    zero_grad::ZeroGrad,
};
use proptest::{collection::vec, prelude::*};

use super::support;

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-15 * b.abs().max(1e-300)
}

#[test]
fn a_clip_multiplies_by_torchs_coefficient() {
    let cases = [
        (0.0, 1.0, 1.0),
        (0.5, 1.0, 1.0),
        // Where the guard of 1e-6 decides: 1 / (1 + 1e-6), and just on the other side of 1.
        (1.0, 1.0, 0.999_999_000_001),
        (0.999_998, 1.0, 1.0),
        (3.0, 1.5, 0.499_999_833_333_388_9),
        (4.0, 0.5, 0.124_999_968_750_007_81),
    ];
    for (norm, max, wanted) in cases {
        assert!(
            close(coefficient(norm, max), wanted),
            "{norm} to {max}: {}",
            coefficient(norm, max)
        );
    }
    assert!(coefficient(f64::NAN, 1.0).is_nan(), "what is no number stays none");
    assert_eq!(coefficient(f64::INFINITY, 1.0), 0.0);
}

#[test]
fn a_clip_before_the_scale_is_divided_out_sees_a_norm_too_large() {
    let (norm, max, scale) = (3.0, 1.5, 1024.0);
    assert_eq!(
        (
            ClipOrder::UnscaleThenClip.seen(norm, scale),
            ClipOrder::ClipThenUnscale.seen(norm, scale)
        ),
        (3.0, 3072.0)
    );
    assert!(close(
        ClipOrder::UnscaleThenClip.coefficient(norm, max, scale),
        coefficient(3.0, max)
    ));
    assert!(close(
        ClipOrder::ClipThenUnscale.coefficient(norm, max, scale),
        coefficient(3072.0, max)
    ));
    assert_eq!(
        (ClipOrder::default(), ClipAt::default()),
        (ClipOrder::UnscaleThenClip, ClipAt::AfterAccumulation)
    );
}

/// For four microbatches, which exchange; and for a group of one.
#[test]
fn the_context_at_forward_time_decides_which_microbatches_exchange() {
    let cases = [
        (SyncMode::LastMicrobatch, [false, false, false, true], true),
        (SyncMode::EveryMicrobatch, [true; 4], true),
        (SyncMode::ForwardOutside, [true; 4], true),
        (SyncMode::Never, [false; 4], false),
        (SyncMode::ForwardInside, [false; 4], false),
        (SyncMode::LastForwardInside, [false; 4], false),
        (SyncMode::LastForwardOutside, [false, false, false, true], true),
        (SyncMode::SingleBackward, [false, false, false, true], true),
        (SyncMode::FirstMicrobatch, [true, false, false, false], true),
    ];
    for (mode, four, one) in cases {
        let reduces: Vec<bool> = (0..4).map(|index| mode.reduces(index, 4)).collect();
        assert_eq!(reduces, four, "{mode:?}");
        assert_eq!(
            mode.exchanges(4) as usize,
            four.iter().filter(|reduces| **reduces).count(),
            "{mode:?}"
        );
        assert_eq!(
            (mode.reduces(0, 1), mode.exchanges(1)),
            (one, u32::from(one)),
            "{mode:?}"
        );
        assert_eq!(mode.exchanges(0), 0);
    }
}

#[test]
fn to_a_loop_that_steps_after_each_microbatch_each_is_the_only_one() {
    let recipe = |step, sync| Recipe {
        step,
        sync,
        ..Recipe::default()
    };
    let places = |recipe: Recipe| -> Vec<bool> { (0..3).map(|index| recipe.exchanges_after(index, 3)).collect() };
    for step in [OptimizerStep::EachMicrobatch, OptimizerStep::MovesSummed] {
        for sync in [
            SyncMode::LastMicrobatch,
            SyncMode::FirstMicrobatch,
            SyncMode::EveryMicrobatch,
        ] {
            assert_eq!(places(recipe(step, sync)), [true; 3], "{sync:?}");
        }
        assert_eq!(places(recipe(step, SyncMode::Never)), [false; 3]);
    }
    let group = |sync| places(recipe(OptimizerStep::Group, sync));
    assert_eq!(group(SyncMode::LastMicrobatch), [false, false, true]);
    assert_eq!(group(SyncMode::FirstMicrobatch), [true, false, false]);
}

#[test]
fn zero_grad_stands_in_one_place() {
    let cases = [
        (ZeroGrad::AfterUpdate, [false, false, true]),
        (ZeroGrad::BeforeEachBackward, [true, false, true]),
        (ZeroGrad::AfterEachBackward, [false, true, true]),
        (ZeroGrad::Forgotten, [false, false, false]),
    ];
    for (place, wanted) in cases {
        assert_eq!(
            [place.before_backward(), place.after_backward(), place.after_update()],
            wanted,
            "{place:?}"
        );
    }
}

#[test]
fn a_mean_of_nothing_depends_on_how_it_is_written() {
    let all = [
        (EmptyMean::Reduction, true, false),
        (EmptyMean::SumOverCount, true, false),
        (EmptyMean::HandMasked, true, true),
        (EmptyMean::SumOverAtLeastOne, false, false),
    ];
    for (mean, no_number, enters) in all {
        assert_eq!(mean.loss(0.0, 0).is_nan(), no_number, "{mean:?}");
        assert_eq!(mean.weight(false, 0).is_nan(), no_number, "{mean:?}: 0 / 0");
        assert_eq!(mean.enters_ignored(), enters, "{mean:?}");
        // With three tokens all are the same.
        assert!(
            close(mean.loss(6.0, 3), 2.0) && close(mean.weight(true, 3), 1.0 / 3.0),
            "{mean:?}"
        );
        assert_eq!(mean.weight(false, 3), 0.0, "{mean:?}");
    }
    assert_eq!(EmptyMean::SumOverAtLeastOne.loss(0.0, 0), 0.0);
}

#[test]
fn a_scale_that_moves_inside_a_group_leaves_factors_behind() {
    let of = |way: ScaleInGroup| {
        (0..3)
            .map(|index| way.remaining(index, 1024.0, 4.0))
            .collect::<Vec<_>>()
    };
    assert_eq!(of(ScaleInGroup::Held), [1.0, 1.0, 1.0]);
    assert_eq!(of(ScaleInGroup::GrownAfterFirst), [0.25, 1.0, 1.0]);
    assert_eq!(of(ScaleInGroup::UnscaledAfterFirst), [1.0, 1024.0, 1024.0]);
}

fn scaler(init_scale: f32, growth_interval: u32) -> Scaler {
    Scaler::new(ScalerConfig {
        init_scale,
        growth_factor: 3.0,
        backoff_factor: 0.25,
        growth_interval,
    })
}

fn attempt(scaler: &mut Scaler, finite: bool) -> Attempt {
    assert_eq!(scaler.unscale(finite), Ok(1.0 / scaler.scale()));
    let attempt = scaler.step().expect("was checked");
    assert_eq!(scaler.update(), Ok(()));
    attempt
}

#[test]
fn calls_out_of_order_are_refused_by_name() {
    let mut scaler = scaler(8.0, 2);
    assert_eq!((scaler.scale(), scaler.growth_factor()), (8.0, 3.0));
    assert_eq!(scaler.step(), Err(ScalerError::NotChecked));
    assert_eq!(scaler.update(), Err(ScalerError::NotChecked));
    assert_eq!(scaler.unscale(true), Ok(0.125));
    assert_eq!(scaler.unscale(true), Err(ScalerError::AlreadyUnscaled));
    assert_eq!(scaler.step(), Ok(Attempt::Apply));
    assert_eq!(scaler.step(), Err(ScalerError::AlreadyStepped));
    assert_eq!(scaler.unscale(true), Err(ScalerError::AlreadyStepped));
    assert_eq!(scaler.update(), Ok(()));
    // A check without a step is enough for the update, as in torch.
    assert_eq!(scaler.unscale(false), Ok(0.125));
    assert_eq!((scaler.update(), scaler.scale()), (Ok(()), 2.0));
}

#[test]
fn a_scale_grows_no_further_than_its_type_and_shrinks_to_nothing() {
    let mut high = scaler(2e38, 1);
    assert_eq!(attempt(&mut high, true), Attempt::Apply);
    assert!((high.scale() - f64::from(2e38f32)).abs() < 1.0 && high.growth_tracker() == 0);
    let mut low = scaler(1e-45, 1);
    assert_eq!(attempt(&mut low, false), Attempt::Skip);
    assert_eq!(low.scale(), 0.0);
}

proptest! {
    #![proptest_config(support::config(256))]

    #[test]
    fn a_scale_is_what_its_history_makes_it(finite in vec(prop::bool::weighted(0.8), 1..40), interval in 1u32..6) {
        let mut scaler = scaler(65536.0, interval);
        // Both factors are powers of two times 3^n, and exact in f32 for as many attempts as this.
        let (mut scale, mut row) = (65536.0f64, 0);
        for finite in finite {
            let wanted = if finite { Attempt::Apply } else { Attempt::Skip };
            prop_assert_eq!(attempt(&mut scaler, finite), wanted);
            row = if finite { row + 1 } else { 0 };
            if !finite { scale /= 4.0; }
            if row == interval { scale *= 3.0; row = 0; }
            prop_assert!((scaler.scale() / scale - 1.0).abs() < 1e-5, "{} for {scale}", scaler.scale());
            prop_assert_eq!(scaler.growth_tracker(), row);
        }
    }
}

#[test]
fn every_count_is_found_under_its_unit() {
    let counters = Counters {
        microbatches: 11,
        backwards: 12,
        update_attempts: 13,
        applied_updates: 14,
        examples: 15,
        unique_examples: 16,
        supervised_tokens: 17,
        padded_tokens: 18,
        all_reduces: 19,
        all_reduced_bytes: 20,
    };
    let stored = serde_json::to_value(counters).expect("json");
    let mut seen = Vec::new();
    for unit in Unit::ALL {
        let name = serde_json::to_value(unit).expect("json");
        let name = name.as_str().expect("a name").to_owned();
        assert_eq!(stored[&name], counters.get(unit), "{name}");
        seen.push(counters.get(unit));
    }
    seen.sort_unstable();
    assert_eq!(seen, (11..=20).collect::<Vec<_>>());
}

#[test]
fn only_a_right_convention_in_a_right_loop_is_right() {
    let plain = LaneRule::from(ConventionId::TokenWeighted);
    assert_eq!(
        (plain.convention, plain.faults),
        (ConventionId::TokenWeighted, Faults::NONE)
    );
    assert!(plain.correct());
    let faults = Faults::NONE.and(FaultId::SyncEachMicrobatch).expect("one");
    let faulty = LaneRule { faults, ..plain };
    assert!(!faulty.correct());
    assert_eq!(faulty.recipe().sync, SyncMode::EveryMicrobatch);
    let wrong = LaneRule::from(ConventionId::Sum);
    assert!(!wrong.correct() && !LaneRule { faults, ..wrong }.correct());
    assert_eq!(wrong.convention().id, ConventionId::Sum);
}
