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

/// 1 to 4 different lanes, separated as lengths are: a convention, then its faults, each after a plus, or after space, as which a link
/// reads a plus that was typed into it.
pub(super) fn lanes(text: &str) -> Result<Vec<LaneRule>, Problem> {
    let mut lanes: Vec<LaneRule> = Vec::new();
    for name in lane_words(text) {
        let lane = lane(&name)?;
        if lanes.contains(&lane) {
            return Err(Problem::Repeated { name });
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

/// The texts of lanes, each with its faults after pluses.
fn lane_words(text: &str) -> Vec<String> {
    let joined = text.split('+').map(str::trim).collect::<Vec<_>>().join("+");
    let mut lanes: Vec<String> = Vec::new();
    for entry in joined.split([',', ';']) {
        let first = lanes.len();
        for word in entry.split_whitespace() {
            let is_fault = word.split('+').next().and_then(FaultId::named).is_some();
            match lanes.get_mut(first..).and_then(<[String]>::last_mut) {
                Some(lane) if is_fault => {
                    lane.push('+');
                    lane.push_str(word);
                }
                _ => lanes.push(word.to_owned()),
            }
        }
    }
    lanes
}

fn convention(name: &str) -> Result<ConventionId, Problem> {
    ConventionId::named(name).ok_or_else(|| unknown(name, ConventionId::names()))
}

fn fault(name: &str) -> Result<FaultId, Problem> {
    FaultId::named(name).ok_or_else(|| unknown(name, FaultId::names()))
}

/// A name in a link may be anything; the beginning of a long one tells which it is.
fn unknown(name: &str, allowed: Vec<&'static str>) -> Problem {
    const MOST: usize = 60;
    if name.is_empty() {
        return Problem::NotOneOf { allowed };
    }
    Problem::UnknownName {
        name: name.chars().take(MOST).collect(),
        allowed,
    }
}

fn lane(text: &str) -> Result<LaneRule, Problem> {
    let mut names = text.split('+');
    let convention = convention(names.next().unwrap_or_default())?;
    let faults = names.try_fold(Faults::NONE, |faults, name| {
        let id = fault(name)?;
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

/// What can be read of a lane: of two faults of one place the first. `None` without a known convention.
fn readable(text: &str) -> Option<LaneRule> {
    let mut names = text.split('+');
    let convention = ConventionId::named(names.next()?)?;
    let whole = Convention::of(convention).pass == Pass::Whole;
    let faults = names
        .filter_map(FaultId::named)
        .filter(|_| !whole)
        .fold(Faults::NONE, |faults, id| faults.and(id).unwrap_or(faults));
    Some(LaneRule { convention, faults })
}

/// The lanes of a text as far as they can be read, for a form of which the rest cannot. What is judged is judged by [`lanes`].
pub fn named_lanes(text: &str) -> Vec<LaneRule> {
    lane_words(text).iter().filter_map(|name| readable(name)).collect()
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

    fn read(text: &str) -> Vec<String> {
        named_lanes(text).into_iter().map(lane_name).collect()
    }

    #[test]
    fn what_is_written_of_lanes_is_read_again_as_far_as_it_can_be() {
        let text = "token_weighted+never_synced, nonsense;sum+nonsense mean_of_means";
        let named = read(text);
        assert_eq!(named, ["token_weighted+never_synced", "sum", "mean_of_means"]);
        assert!(lanes(text).is_err());
        assert_eq!(lanes(&named.join(",")).unwrap(), named_lanes(text));
        // Of two faults of one place the first is drawn, so that the lane is there to be mended.
        let excluded = "sum,token_weighted+never_synced+single_backward+zero_grad_forgotten";
        assert!(matches!(lanes(excluded), Err(Problem::FaultsExclude { .. })));
        assert_eq!(
            read(excluded),
            ["sum", "token_weighted+zero_grad_forgotten+never_synced"]
        );
        assert!(matches!(
            lanes("full_batch+never_synced"),
            Err(Problem::FaultNeedsSplit { .. })
        ));
        assert_eq!(read("full_batch+never_synced"), ["full_batch"]);
    }

    #[test]
    fn space_before_a_fault_is_a_plus() {
        let written = lanes("sum+never_synced+zero_grad_forgotten,mean_of_means").unwrap();
        for text in [
            "sum never_synced zero_grad_forgotten,mean_of_means",
            "sum never_synced+zero_grad_forgotten mean_of_means",
            " sum + never_synced\nzero_grad_forgotten ; mean_of_means ",
        ] {
            assert_eq!(lanes(text).as_ref(), Ok(&written), "{text}");
        }
        // A comma parts lanes.
        assert!(lanes("sum,never_synced").is_err());
    }

    #[test]
    fn a_name_that_is_not_known_is_quoted() {
        let told = |text| match lanes(text) {
            Err(Problem::UnknownName { name, allowed }) => (name, allowed),
            other => panic!("{other:?}"),
        };
        assert_eq!(told("sum,sun"), ("sun".to_owned(), ConventionId::names()));
        assert_eq!(told("sum+never_sync"), ("never_sync".to_owned(), FaultId::names()));
        assert_eq!(told(&"x".repeat(100)).0.len(), 60);
        // No name stands for two things.
        assert!(FaultId::names().iter().all(|name| ConventionId::named(name).is_none()));
    }
}
