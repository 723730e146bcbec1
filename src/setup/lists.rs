//! Texts that hold several values: lengths, lanes, known losses.

use super::{limits, named::Named, problem::Problem};
use crate::batch::ConventionId;

/// Lengths separated by commas, semicolons, spaces or line ends, each at most `longest`.
pub(super) fn lengths(text: &str, longest: u32) -> Result<Vec<u32>, Problem> {
    let words = || {
        text.split(|c: char| matches!(c, ',' | ';') || c.is_whitespace())
            .filter(|word| !word.is_empty())
    };
    let count = words().count();
    if count == 0 {
        return Err(Problem::Empty);
    }
    if count > limits::MAX_LENGTHS {
        return Err(Problem::TooMany {
            count,
            max: limits::MAX_LENGTHS,
        });
    }
    (1..)
        .zip(words())
        .map(|(entry, word)| length(entry, word, longest))
        .collect()
}

fn length(entry: usize, word: &str, longest: u32) -> Result<u32, Problem> {
    let digits = word.bytes().all(|b| b.is_ascii_digit());
    // More digits than fit are still a length, only a very long one.
    let length = if digits { word.parse().unwrap_or(u64::MAX) } else { 0 };
    match u32::try_from(length) {
        Ok(0) => Err(Problem::BadLength { entry }),
        Ok(length) if length <= longest => Ok(length),
        _ => Err(Problem::LengthTooLong {
            entry,
            length,
            max: longest,
        }),
    }
}

/// 1 to 4 different conventions, separated as lengths are.
pub(super) fn lanes(text: &str) -> Result<Vec<ConventionId>, Problem> {
    let mut lanes: Vec<ConventionId> = Vec::new();
    for name in text
        .split(|c: char| matches!(c, ',' | ';') || c.is_whitespace())
        .filter(|name| !name.is_empty())
    {
        let Some(lane) = ConventionId::named(name) else {
            return Err(Problem::NotOneOf {
                allowed: ConventionId::names(),
            });
        };
        if lanes.contains(&lane) {
            return Err(Problem::Repeated { name: name.to_owned() });
        }
        lanes.push(lane);
    }
    match lanes.len() {
        0 => Err(Problem::NotOneOf {
            allowed: ConventionId::names(),
        }),
        count if count > limits::MAX_LANES => Err(Problem::TooMany {
            count,
            max: limits::MAX_LANES,
        }),
        _ => Ok(lanes),
    }
}

/// `letter:loss` pairs separated by commas; any character may be a letter, a comma, colon or space too.
pub(super) fn known_losses(text: &str) -> Result<Vec<(char, f64)>, Problem> {
    let mut pairs: Vec<(char, f64)> = Vec::new();
    let mut rest = text.trim_end();
    while !rest.is_empty() {
        rest = without_layout(rest);
        let mut characters = rest.chars();
        let (Some(letter), Some(':')) = (characters.next(), characters.next()) else {
            return Err(Problem::BadStart);
        };
        let (number, tail) = characters.as_str().split_once(',').unwrap_or((characters.as_str(), ""));
        let loss: f64 = number.trim().parse().map_err(|_| Problem::BadStart)?;
        // Beyond that exp(-loss) is no f32 any more.
        if !(loss > 0.0 && loss <= 80.0) {
            return Err(Problem::BadStart);
        }
        if pairs.iter().any(|(other, _)| *other == letter) {
            return Err(Problem::Repeated {
                name: letter.to_string(),
            });
        }
        pairs.push((letter, loss));
        rest = tail;
    }
    let probability: f64 = pairs.iter().map(|(_, loss)| (-loss).exp()).sum();
    if pairs.is_empty() || probability >= 1.0 {
        Err(Problem::BadStart)
    } else {
        Ok(pairs)
    }
}

/// Space before a letter is layout, unless it is itself the letter.
fn without_layout(text: &str) -> &str {
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(first), second) if first.is_whitespace() && second != Some(':') => {
            without_layout(text.get(first.len_utf8()..).unwrap_or_default())
        }
        _ => text,
    }
}
