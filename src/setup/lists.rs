//! Texts that hold several values: lengths, lanes, known losses, injections.

use super::{limits, named::Named, number, problem::Problem, types::Injection};
use crate::batch::{
    Convention, ConventionId, FaultId, Faults, LaneRule, Pass, Split, fault::Excluded, oracle::batch_norm::Momentum,
};

/// What stands between commas, semicolons and space.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| matches!(c, ',' | ';') || c.is_whitespace())
        .filter(|word| !word.is_empty())
}

/// Lengths separated by commas, semicolons, spaces or line ends, each at most `longest`.
pub(super) fn lengths(text: &str, longest: u32) -> Result<Vec<u32>, Problem> {
    let count = words(text).count();
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
        .zip(words(text))
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

/// 1 to 4 different lanes, separated as lengths are: a convention, then its faults, each after a plus.
pub(super) fn lanes(text: &str) -> Result<Vec<LaneRule>, Problem> {
    let mut lanes: Vec<LaneRule> = Vec::new();
    let joined = without_space_at_pluses(text);
    for name in words(&joined) {
        let lane = lane(name)?;
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

fn lane(text: &str) -> Result<LaneRule, Problem> {
    let mut names = text.split('+');
    let convention = names
        .next()
        .and_then(ConventionId::named)
        .ok_or_else(|| Problem::NotOneOf {
            allowed: ConventionId::names(),
        })?;
    let faults = names.try_fold(Faults::NONE, |faults, name| {
        let id = FaultId::named(name).ok_or_else(|| Problem::NotOneOf {
            allowed: FaultId::names(),
        })?;
        if Convention::of(convention).pass == Pass::Whole {
            return Err(Problem::FaultNeedsSplit { fault: id.name() });
        }
        faults
            .and(id)
            .map_err(|Excluded(first, second)| Problem::FaultsExclude {
                first: first.name(),
                second: second.name(),
            })
    })?;
    Ok(LaneRule { convention, faults })
}

/// Those lanes of a text that can be read, for a form of which the rest cannot. What is judged is judged by [`lanes`].
pub fn named_lanes(text: &str) -> Vec<LaneRule> {
    words(&without_space_at_pluses(text))
        .filter_map(|name| lane(name).ok())
        .collect()
}

/// Space around a plus separates nothing.
fn without_space_at_pluses(text: &str) -> String {
    text.split('+').map(str::trim).collect::<Vec<_>>().join("+")
}

/// The text that [`lanes`] reads.
pub fn lane_name(lane: LaneRule) -> String {
    let faults = lane.faults.rows().map(|row| row.id.name());
    std::iter::once(lane.convention.name())
        .chain(faults)
        .collect::<Vec<_>>()
        .join("+")
}

/// `attempt:microbatch:replica`, separated as lengths are; nothing is no injection. None may lie outside the group,
/// where it would never happen.
pub(super) fn injections(text: &str, split: Option<Split>) -> Result<Vec<Injection>, Problem> {
    let injections: Vec<Injection> = words(text).map(injection).collect::<Result<_, _>>()?;
    if injections.len() > limits::MAX_INJECTIONS {
        return Err(Problem::TooMany {
            count: injections.len(),
            max: limits::MAX_INJECTIONS,
        });
    }
    let outside =
        |at: &Injection, split: Split| at.microbatch > split.accumulation.get() || at.replica > split.replicas.get();
    match split.filter(|&split| injections.iter().any(|at| outside(at, split))) {
        None => Ok(injections),
        Some(split) => Err(Problem::InjectionOutside {
            accumulation: split.accumulation.get(),
            replicas: split.replicas.get(),
        }),
    }
}

fn injection(entry: &str) -> Result<Injection, Problem> {
    let mut parts = entry.split(':').map(|part| part.parse::<u32>().ok().filter(|&n| n > 0));
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(Some(attempt)), Some(Some(microbatch)), Some(Some(replica)), None) => Ok(Injection {
            attempt: attempt.into(),
            microbatch,
            replica,
        }),
        _ => Err(Problem::BadInjection),
    }
}

/// A share from 0 to 1, or `cumulative`.
pub(super) fn momentum(text: &str) -> Result<Momentum, Problem> {
    match text.trim() {
        "cumulative" => Ok(Momentum::Cumulative),
        share => number::decimal(share, 0.0, 1.0)
            .map(Momentum::Fixed)
            .map_err(|_| Problem::BadMomentum),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_of_lanes_is_read_again_and_the_rest_left_out() {
        let text = "token_weighted+never_synced, nonsense;token_weighted+nonsense mean_of_means";
        let named: Vec<String> = named_lanes(text).into_iter().map(lane_name).collect();
        assert_eq!(named, ["token_weighted+never_synced", "mean_of_means"]);
        assert!(lanes(text).is_err());
        assert_eq!(lanes(&named.join(",")).unwrap(), named_lanes(text));
    }
}
