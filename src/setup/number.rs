//! Numbers as people type them.

use super::{limits::MAX_COUNT, problem::Problem};

/// A whole number between two limits, both included.
pub(super) fn whole(text: &str, min: u64, max: u64) -> Result<u64, Problem> {
    let text = plain(text)?;
    if let Ok(value) = text.parse::<u64>() {
        return within(value as f64, min as f64, max as f64).map(|_| value);
    }
    // Not an unsigned integer: its value as a float tells what is wrong. "2.0" and "1e3" are whole by value.
    let value = within(float(&text)?, min as f64, max as f64)?;
    if value.fract() == 0.0 {
        // Between the limits, so never negative; limits are far below 2^53.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "just judged")]
        Ok(value as u64)
    } else {
        Err(Problem::NotWhole)
    }
}

/// One of m, A and D, as its field reads it.
pub fn count(text: &str) -> Result<u32, Problem> {
    let value = whole(text, 1, MAX_COUNT.into())?;
    u32::try_from(value).map_err(|_| Problem::TooLarge { max: MAX_COUNT.into() })
}

/// A number between two limits, both included. A single comma is read as a decimal point.
pub(super) fn decimal(text: &str, min: f64, max: f64) -> Result<f64, Problem> {
    let text = plain(text)?;
    let text = if text.contains('.') {
        text
    } else {
        text.replacen(',', ".", 1)
    };
    within(float(&text)?, min, max)
}

/// A float; a literal too large for one is infinite, but the words "inf" and "nan" are no numbers.
fn float(text: &str) -> Result<f64, Problem> {
    if text.contains(|c: char| c.is_alphabetic() && c != 'e' && c != 'E') {
        return Err(Problem::NotANumber);
    }
    if text.contains(',') {
        // "1,5": a fraction to some, a thousand to others; no whole number to anybody.
        return Err(if text.replacen(',', ".", 1).parse::<f64>().is_ok() {
            Problem::NotWhole
        } else {
            Problem::NotANumber
        });
    }
    text.parse().map_err(|_| Problem::NotANumber)
}

fn within(value: f64, min: f64, max: f64) -> Result<f64, Problem> {
    if value < min {
        Err(Problem::TooSmall { min })
    } else if value > max {
        Err(Problem::TooLarge { max })
    } else {
        Ok(value)
    }
}

/// Without surrounding space, digit groups ("1 000", "1_000") and typographic minus.
fn plain(text: &str) -> Result<String, Problem> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Problem::Empty);
    }
    let text = text.replace('\u{2212}', "-");
    let separator = |c: char| c == '_' || c.is_whitespace();
    if !text.contains(separator) {
        return Ok(text);
    }
    // A separator counts only before exactly three digits: "2 4" is a slip, not 24.
    let end = text.find(['.', ',']).unwrap_or(text.len());
    let (integer, fraction) = text.split_at(end);
    let mut groups = integer.split(separator);
    let first = groups.next().unwrap_or_default();
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let good = digits(first.trim_start_matches(['-', '+']))
        && first.len() <= 4
        && groups.all(|group| group.len() == 3 && digits(group))
        && !fraction.contains(separator);
    if good {
        Ok(text.replace(separator, ""))
    } else {
        Err(Problem::NotANumber)
    }
}
