//! How long the i-th example shall be.

use rand::{Rng, RngExt};
use rand_distr::{Distribution, LogNormal};

use super::DataError;
use crate::setup::{Lengths, limits};

/// The wished length of example number `index`, in positions from 1 to `longest`; `None` where the data decides.
pub(super) fn wished(rule: &Lengths, index: usize, longest: u32, random: &mut impl Rng) -> Option<u32> {
    let length = match rule {
        Lengths::AsInData => return None,
        Lengths::List(list) => *list.get(index % list.len().max(1))?,
        Lengths::Uniform { min, max } => random.random_range(*min..=*max),
        Lengths::LogNormal { median, sigma } => log_normal(f64::from(*median), *sigma, random),
        Lengths::TwoHumped {
            short,
            long,
            long_share,
        } => {
            let centre = if random.random::<f64>() < *long_share {
                *long
            } else {
                *short
            };
            random.random_range(centre - centre / 4..=centre + centre / 4)
        }
    };
    Some(length.clamp(1, longest))
}

/// A whole number whose logarithm is normal, with the given median.
pub(super) fn log_normal(median: f64, sigma: f64, random: &mut impl Rng) -> u32 {
    // Only a sigma that is no finite number is refused, and a Setup has none.
    let drawn = LogNormal::new(median.ln(), sigma).map_or(median, |law| law.sample(random));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rounded and clamped"
    )]
    let rounded = drawn.round().clamp(1.0, f64::from(limits::MAX_LENGTH)) as u32;
    rounded
}

/// Reads a file of lengths: whole numbers separated by commas, semicolons, spaces or line ends.
///
/// ```
/// assert_eq!(microbatch_lab::data::parse_lengths_file("512, 1536\n64"), Ok(vec![512, 1536, 64]));
/// ```
pub fn parse_lengths_file(text: &str) -> Result<Vec<u32>, DataError> {
    let mut lengths = Vec::new();
    for (line, row) in (1..).zip(text.lines()) {
        let words = row
            .split(|c: char| matches!(c, ',' | ';') || c.is_whitespace())
            .filter(|word| !word.is_empty());
        for word in words {
            let length = word.parse().ok().filter(|&length| length > 0);
            lengths.push(length.ok_or_else(|| DataError::BadLength {
                line,
                given: word.chars().take(40).collect(),
            })?);
        }
    }
    let (count, max) = (lengths.len() as u64, limits::MAX_LENGTHS as u64);
    match count {
        0 => Err(DataError::Empty),
        _ if count > max => Err(DataError::TooManyLengths { count, max }),
        _ => Ok(lengths),
    }
}
