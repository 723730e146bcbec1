//! Activations and their gradients in half precision: overflow and underflow happen, and a loss scale helps where it can.

use microbatch_lab::{
    batch::{
        PaddedBatch,
        oracle::{Numerics, norm, relative_l2},
    },
    setup::Key,
};

use super::{
    bench::{Bench, assert_near},
    gradient,
};

/// f32 and f64 sums that fall on two sides of a boundary between two half-precision numbers round to different ones, 2^-10 apart. None did
/// where this was measured (3e-7 at most); a few may where tanh and exp are others. Rounding itself changes 3e-4.
const FLIPS: f64 = 5e-5;

const HALF: Numerics = Numerics { half: true, masks: &[] };

fn bench(model: &str, batch_norm: &str) -> Bench {
    super::bench(&[
        (Key::Model, model),
        (Key::BatchNorm, batch_norm),
        (Key::Precision, "f16"),
    ])
}

fn scaled(gradient: &[f64], by: f64) -> Vec<f64> {
    gradient.iter().map(|g| g * by).collect()
}

#[test]
fn gradients_equal_those_of_the_rounded_oracle() {
    for (model, batch_norm) in [("token_mlp", "no"), ("token_mlp", "yes"), ("transformer", "no")] {
        let bench = bench(model, batch_norm);
        let batch = bench.batch(0..4);
        let ours = gradient(&bench, &mut bench.numerics(1), 0, &batch, 1.0);
        let rounded = bench.oracle(HALF, &batch, 1.0);
        let exact = bench.oracle(Numerics::default(), &batch, 1.0);
        let (error, change) = (relative_l2(&ours, &rounded), relative_l2(&exact, &rounded));
        println!(
            "{model}, BatchNorm {batch_norm}: {error:e} from the rounded oracle, which is {change:e} from the exact one"
        );
        assert!(error <= FLIPS && change > 2.0 * error, "{model}: {error:e}, {change:e}");
    }
}

/// Small enough that no gradient of a logit reaches half the smallest number of half precision, 3e-8.
const TINY: f64 = 1e-9;

/// 2^26, exact in any precision. It lifts what is tiny to where half precision has all its bits.
const SCALE: f64 = 67_108_864.0;

fn smallest_and_scale(bench: &Bench, batch: &PaddedBatch) {
    let unscaled = gradient(bench, &mut bench.numerics(1), 0, batch, TINY);
    assert!(
        unscaled.iter().all(|&g| g == 0.0),
        "without a scale all underflows to zero"
    );
    let rescued = gradient(bench, &mut bench.numerics(1), 0, batch, TINY * SCALE);
    assert_near(
        "unscaled again",
        &scaled(&rescued, 1.0 / SCALE),
        &scaled(&bench.oracle(Numerics::default(), batch, 1.0), TINY),
        1e-3,
    );
    assert_near(
        "as the oracle",
        &rescued,
        &bench.oracle(HALF, batch, TINY * SCALE),
        FLIPS,
    );
}

#[test]
fn tiny_gradients_underflow_without_a_scale_and_survive_with_one() {
    for model in ["token_mlp", "transformer"] {
        let bench = bench(model, "no");
        smallest_and_scale(&bench, &bench.batch(0..4));
    }
}

#[test]
fn a_large_scale_overflows_to_what_is_not_finite() {
    for model in ["token_mlp", "transformer"] {
        let bench = bench(model, "no");
        let batch = bench.batch(0..4);
        let of = |factor| gradient(&bench, &mut bench.numerics(1), 0, &batch, factor);
        let small = of(256.0);
        assert!(small.iter().all(|g| g.is_finite()) && norm(&small) > 0.0, "{model}");
        let large = of(1e7);
        assert!(large.iter().any(|g| !g.is_finite()), "{model}: {:e}", norm(&large));
        // The same factor is nothing special to f32.
        let plain = super::bench(&[(Key::Model, model)]);
        let large = gradient(&plain, &mut plain.numerics(1), 0, &batch, 1e7);
        assert!(large.iter().all(|g| g.is_finite()), "{model}");
    }
}
