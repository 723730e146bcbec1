//! A person's plain text.

use super::{
    DataError,
    collect::Collected,
    lengths,
    random::{Purpose, stream},
    written::Written,
};
use crate::setup::{Lengths, Setup};

/// As in the data: one example a line that has any text, with its line end, cut where it is longer than the model takes.
/// Under a rule for lengths: the whole text, cut into windows of those lengths; only the last may be shorter.
/// Each window starts with the last character of the one before, so that every character but the first is predicted once.
pub(super) fn read(setup: &Setup, text: &str, longest: u32) -> Result<Collected, DataError> {
    let mut collected = Collected::new(longest);
    if setup.lengths == Lengths::AsInData {
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let characters: Vec<char> = line.chars().chain(['\n']).collect();
            windows(&characters, |_| longest, &mut collected)?;
        }
    } else {
        let mut random = stream(setup.seed, Purpose::Lengths);
        let characters: Vec<char> = text.chars().collect();
        let wished = |index| lengths::wished(&setup.lengths, index, longest, &mut random).unwrap_or(longest);
        windows(&characters, wished, &mut collected)?;
    }
    Ok(collected)
}

fn windows(
    characters: &[char],
    mut length: impl FnMut(usize) -> u32,
    collected: &mut Collected,
) -> Result<(), DataError> {
    let mut rest = characters;
    while rest.len() > 1 {
        let window = (length(collected.sequences.len()) as usize).clamp(1, rest.len() - 1);
        collected.push(Written::running(rest.iter().take(window + 1).copied().collect()))?;
        rest = rest.get(window..).unwrap_or_default();
    }
    Ok(())
}
