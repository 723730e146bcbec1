//! Random letters, as copy, reverse and sort take them.

use rand::{Rng, seq::IndexedRandom};

use super::{Order, Written, lengths};

/// Few enough that a small network learns them within a minute.
const ALPHABET: [char; 8] = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

/// Between the given letters and the answer.
const SEPARATOR: char = '=';

/// Letters of the task's own variety: mostly short, some three times as long.
const MEDIAN: f64 = 6.0;
const SPREAD: f64 = 0.6;
const FEWEST: u32 = 2;
const MOST: u32 = 16;

/// `letters=answer(letters)`. Its positions are twice the letters and one, so even wishes get one position less.
pub(super) fn write(order: &mut Order<'_>, answer: fn(&mut Vec<char>)) -> Written {
    let most = (order.longest.saturating_sub(1) / 2).max(1);
    let count = match order.wished {
        Some(length) => (length.saturating_sub(1) / 2).max(1),
        None => lengths::log_normal(MEDIAN, SPREAD, order.random)
            .clamp(FEWEST, MOST)
            .min(most),
    };
    let letters: Vec<char> = (0..count).map(|_| letter(order.random)).collect();
    let mut prompt = letters.clone();
    prompt.push(SEPARATOR);
    let mut completion = letters;
    answer(&mut completion);
    Written::answer(&prompt, &completion)
}

fn letter(random: &mut impl Rng) -> char {
    ALPHABET.choose(random).copied().unwrap_or(ALPHABET[0])
}
