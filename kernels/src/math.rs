//! Functions that std has for one float only.

use std::f32::consts::{FRAC_1_SQRT_2, LOG2_E, PI};

use wide::{f32x4, i32x4};

/// e^x as Cephes (`expf.c`) has it: a power of 2 and a polynomial, off by 2 units of the last place. 0 where it is less than any normal number,
/// and the largest power that is finite where it would be more; NaN stays NaN.
#[inline]
pub(crate) fn exp(x: f32x4) -> f32x4 {
    // 1.5 x 2^23: adding it leaves the nearest integer in the lowest bits.
    let magic = f32x4::splat(12_582_912.0);
    let inside = x.fast_max(f32x4::splat(-87.3)).fast_min(f32x4::splat(88.3));
    let shifted = inside * LOG2_E + magic;
    let power = shifted - magic;
    let rest = inside - power * 0.693_359_4 + power * 2.121_944_4e-4;
    let series = [
        1.987_569_1e-4f32,
        1.398_199_9e-3,
        8.333_452e-3,
        4.166_579_6e-2,
        1.666_666_5e-1,
        0.5,
    ];
    let fraction = polynomial(rest, &series) * rest * rest + rest + f32x4::ONE;
    let bits: i32x4 = bytemuck::cast(shifted);
    let two_to_the_power: f32x4 = bytemuck::cast((bits + i32x4::splat(127)) << 23);
    let power = x
        .simd_lt(f32x4::splat(-87.3))
        .select(f32x4::ZERO, fraction * two_to_the_power);
    x.is_nan().select(x, power)
}

/// The exact GELU, and its slope. erf is Abramowitz and Stegun 7.1.26, off by at most 1.5e-7, whose exponential is also the slope's.
#[inline]
pub(crate) fn gelu(x: f32x4) -> (f32x4, f32x4) {
    let bell = exp(x * x * -0.5);
    let size = x.abs() * FRAC_1_SQRT_2;
    let t = f32x4::ONE / (f32x4::ONE + size * 0.327_591_1);
    let tail = [1.061_405_4, -1.453_152_1, 1.421_413_8, -0.284_496_74, 0.254_829_6];
    let erf = (f32x4::ONE - t * polynomial(t, &tail) * bell).copysign(x);
    let below = (f32x4::ONE + erf) * 0.5;
    (x * below, below + x * bell * (1.0 / (2.0 * PI).sqrt()))
}

/// tanh as Cephes (`tanhf.c`) has it: a power series where the other form would cancel.
#[inline]
pub(crate) fn tanh(x: f32x4) -> f32x4 {
    let square = x * x;
    let series = [
        -5.704_988_7e-3f32,
        2.063_908_8e-2,
        -5.373_971_6e-2,
        1.333_144_2e-1,
        -3.333_328_4e-1,
    ];
    let near = x + x * square * polynomial(square, &series);
    let size = x.abs();
    let far = f32x4::ONE - f32x4::splat(2.0) / (exp(size + size) + f32x4::ONE);
    // From here on it rounds to 1; an infinity is such a number, too.
    let far = size.simd_gt(f32x4::splat(9.1)).select(f32x4::ONE, far).copysign(x);
    size.simd_lt(f32x4::splat(0.625)).select(near, far)
}

/// Coefficients from the highest power down.
#[inline]
fn polynomial(x: f32x4, coefficients: &[f32]) -> f32x4 {
    coefficients
        .iter()
        .fold(f32x4::ZERO, |sum, &coefficient| sum * x + f32x4::splat(coefficient))
}

#[cfg(test)]
mod tests {
    use super::{exp, gelu, tanh};
    use wide::f32x4;

    fn first(x: f32x4) -> f64 {
        f64::from(x.to_array()[0])
    }

    /// The largest distance to `exact` between -10 and 10, over 1 + the size of the exact value.
    fn farthest(ours: fn(f32x4) -> f32x4, exact: fn(f64) -> f64) -> f64 {
        let one = |i: i16| {
            let x = f32::from(i) / 500.0;
            let exact = exact(f64::from(x));
            (first(ours(f32x4::splat(x))) - exact).abs() / (1.0 + exact.abs())
        };
        (-5000..=5000).map(one).fold(0.0, f64::max)
    }

    fn erf(x: f64) -> f64 {
        // Simpson's rule.
        let x = x.clamp(-6.0, 6.0);
        let steps = 2000;
        let width = x / f64::from(steps);
        let at = |i: i32| (-(width * f64::from(i)).powi(2)).exp();
        let inner: f64 = (1..steps)
            .map(|i| if i % 2 == 1 { 4.0 * at(i) } else { 2.0 * at(i) })
            .sum();
        (at(0) + inner + at(steps)) * width / 3.0 * 2.0 / std::f64::consts::PI.sqrt()
    }

    fn below(x: f64) -> f64 {
        0.5 * (1.0 + erf(x / 2f64.sqrt()))
    }

    #[test]
    fn close_to_exact() {
        assert!(farthest(exp, f64::exp) < 2e-7);
        assert!(farthest(tanh, f64::tanh) < 2e-7);
        assert!(farthest(|x| gelu(x).0, |x| x * below(x)) < 3e-7);
        let slope = |x: f64| below(x) + x * (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
        assert!(farthest(|x| gelu(x).1, slope) < 3e-7);
    }

    #[test]
    fn far_out() {
        assert!(first(exp(f32x4::splat(-1e9))) <= 0.0);
        assert!(first(exp(f32x4::splat(f32::NEG_INFINITY))) <= 0.0);
        for size in [1e20f32, f32::MAX] {
            for (x, value, slope) in [(size, f64::from(size), 1.0), (-size, 0.0, 0.0)] {
                let ours = gelu(f32x4::splat(x));
                assert!(
                    (first(ours.0) - value).abs() < 1e-30 && (first(ours.1) - slope).abs() < 1e-30,
                    "{x}"
                );
            }
        }
        assert!(first(exp(f32x4::splat(1e9))) > 1e38);
        assert!(first(tanh(f32x4::splat(1e9))) >= 1.0);
        assert!(first(tanh(f32x4::splat(f32::NEG_INFINITY))) <= -1.0);
    }

    #[test]
    fn what_is_no_number_stays_so() {
        for f in [exp, tanh, |x| gelu(x).0, |x| gelu(x).1] {
            assert!(first(f(f32x4::splat(f32::NAN))).is_nan());
        }
    }
}
