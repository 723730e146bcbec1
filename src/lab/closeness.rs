//! How close two results are: never "identical", but within the noise of floats, within what the person allows, or apart.

/// In words that carry the bound they refer to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Closeness {
    /// Within what another order of the same sum changes.
    NoiseFloor(f64),
    /// Within the tolerance of the setup.
    Tolerance(f64),
    /// Neither; also where the difference is not a number.
    Apart,
}

impl Closeness {
    /// Of a relative difference.
    pub fn of(difference: f64, noise_floor: f64, tolerance: f64) -> Self {
        if difference <= noise_floor {
            Self::NoiseFloor(noise_floor)
        } else if difference <= tolerance {
            Self::Tolerance(tolerance)
        } else {
            Self::Apart
        }
    }
}

/// `||a - b|| / ||b||`; 0 for two zero vectors, NaN for vectors of different lengths.
///
/// ```
/// use microbatch_lab::lab::closeness::relative_l2;
/// assert_eq!(relative_l2(&[3.0, 5.0], &[3.0, 4.0]), 0.2);
/// ```
pub fn relative_l2(a: &[f64], b: &[f64]) -> f64 {
    if a.len() != b.len() {
        return f64::NAN;
    }
    let norm = |squares: f64| squares.sqrt();
    let apart = norm(a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum());
    if apart == 0.0 {
        0.0
    } else {
        apart / norm(b.iter().map(|b| b * b).sum())
    }
}
