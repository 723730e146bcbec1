//! Half precision, IEEE 754 binary16, by its definition: 10 bits after the leading one, exponents from -14, nothing beyond 65504.

/// The largest finite number of half precision.
pub const LARGEST: f64 = 65504.0;

/// The half-precision number nearest to `x`, as f64; ties go to the even one. From 65520 on it is an infinity; down from 2^-25 it is a zero
/// of x's sign. NaN stays NaN.
///
/// ```
/// use microbatch_lab::batch::oracle::half::to_half;
/// assert_eq!(to_half(65519.0), 65504.0);
/// assert_eq!(to_half(65520.0), f64::INFINITY);
/// assert_eq!(to_half(6e-8), 2f64.powi(-24));
/// ```
pub fn to_half(x: f64) -> f64 {
    if !x.is_finite() {
        return x;
    }
    // The exponent as it is stored, less its bias; below -14 all numbers are multiples of the same unit.
    let stored = i32::try_from(x.to_bits() >> 52 & 0x7ff).unwrap_or(0);
    let unit = 2f64.powi((stored - 1023).max(-14) - 10);
    let rounded = (x / unit).round_ties_even() * unit;
    if rounded.abs() > LARGEST {
        f64::INFINITY.copysign(x)
    } else {
        rounded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every finite number of half precision from 0 up, in order: from the fields of its 16 bits.
    fn all() -> impl Iterator<Item = f64> {
        (0..0x7c00u16).map(|bits| {
            let (exponent, rest) = (i32::from(bits >> 10), f64::from(bits & 0x3ff));
            match exponent {
                0 => rest * 2f64.powi(-24),
                _ => (1024.0 + rest) * 2f64.powi(exponent - 25),
            }
        })
    }

    #[track_caller]
    fn assert_bits(x: f64, expected: f64) {
        for sign in [1.0, -1.0] {
            let rounded = to_half(sign * x);
            assert_eq!(rounded.to_bits(), (sign * expected).to_bits(), "{x:e}: {rounded:e}");
        }
    }

    #[test]
    fn numbers_of_half_precision_stay_and_others_go_to_the_nearest() {
        let numbers: Vec<f64> = all().collect();
        assert_eq!((numbers[1], numbers[0x7bff]), (2f64.powi(-24), LARGEST));
        for (i, pair) in numbers.windows(2).enumerate() {
            let (low, high) = (pair[0], pair[1]);
            let middle = f64::midpoint(low, high);
            assert_bits(low, low);
            // The last bit of a number is the parity of its place.
            assert_bits(middle, if i % 2 == 0 { low } else { high });
            assert_bits(middle.next_down(), low);
            assert_bits(middle.next_up(), high);
        }
    }

    #[test]
    fn beyond_the_largest_half_a_unit_more_is_infinite() {
        assert_bits(LARGEST, LARGEST);
        assert_bits(65519.0, LARGEST);
        assert_bits(65520f64.next_down(), LARGEST);
        assert_bits(65520.0, f64::INFINITY);
        assert_bits(1e300, f64::INFINITY);
        assert_bits(f64::INFINITY, f64::INFINITY);
        assert!(to_half(f64::NAN).is_nan());
    }

    #[test]
    fn below_half_the_smallest_nothing_is_left() {
        let smallest = 2f64.powi(-24);
        assert_bits(6e-8, smallest);
        assert_bits(smallest / 2.0, 0.0);
        assert_bits((smallest / 2.0).next_up(), smallest);
        assert_bits(1e-300, 0.0);
        assert_bits(f64::from_bits(1), 0.0);
    }
}
