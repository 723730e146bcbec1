//! `38+7=45`: two whole numbers and their sum.

use std::ops::RangeInclusive;

use rand::{Rng, RngExt};

use super::{Order, Written};

/// Digits of each number in the task's own variety.
const DIGITS: RangeInclusive<u32> = 1..=6;

/// Positions that are no digit: `+` and `=`. (The end marker is predicted but never read.)
const SIGNS: u32 = 2;

pub(super) fn write(order: &mut Order<'_>) -> Written {
    let (first, second) = match order.wished {
        Some(length) => wished(length, order.random),
        None => (any(order), any(order)),
    };
    let mut prompt = text(&first);
    prompt.push('+');
    prompt.extend(text(&second));
    prompt.push('=');
    Written::answer(&prompt, &text(&sum(&first, &second)))
}

/// A number of the task's own variety.
fn any(order: &mut Order<'_>) -> Vec<u8> {
    let most = (order.longest.saturating_sub(SIGNS + 1) / 3).clamp(1, *DIGITS.end());
    let digits = order.random.random_range(*DIGITS.start()..=most);
    number(digits, 1..=9, order.random)
}

/// Two numbers that with their sum take exactly `length` positions, or 5, the fewest there are. The positions are the digits
/// of all three and the signs; leading digits decide whether the sum has a digit more.
fn wished(length: u32, random: &mut impl Rng) -> (Vec<u8>, Vec<u8>) {
    let digits = length.saturating_sub(SIGNS);
    let each = (digits / 3).max(1);
    match if digits < 3 { 0 } else { digits % 3 } {
        0 => (number(each, 1..=4, random), number(each, 1..=4, random)),
        1 => (number(each, 5..=9, random), number(each, 5..=9, random)),
        _ => (number(each + 1, 1..=8, random), number(each, 1..=9, random)),
    }
}

/// Digits, the highest first.
fn number(digits: u32, leading: RangeInclusive<u8>, random: &mut impl Rng) -> Vec<u8> {
    let mut number = vec![random.random_range(leading)];
    number.extend((1..digits).map(|_| random.random_range(0..=9u8)));
    number
}

/// Sums are taken digit by digit: numbers of a thousand digits are wished for, too.
fn sum(first: &[u8], second: &[u8]) -> Vec<u8> {
    let digit = |number: &[u8], place: usize| number.iter().rev().nth(place).copied().unwrap_or(0);
    let mut carry = 0;
    let mut sum: Vec<u8> = (0..first.len().max(second.len()))
        .map(|place| {
            let total = digit(first, place) + digit(second, place) + carry;
            carry = total / 10;
            total % 10
        })
        .collect();
    if carry > 0 {
        sum.push(carry);
    }
    sum.reverse();
    sum
}

fn text(number: &[u8]) -> Vec<char> {
    number
        .iter()
        .filter_map(|&digit| char::from_digit(digit.into(), 10))
        .collect()
}
