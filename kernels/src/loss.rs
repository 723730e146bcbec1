//! Cross-entropy of rows of logits.

use wide::f32x4;

use crate::{
    four::{LANES, load, store},
    math::exp,
};

/// `losses[p] = log(sum of exp(logits[p])) - logits[p][labels[p]]`.
pub fn forward(logits: &[f32], classes: usize, labels: &[i32], losses: &mut [f32]) {
    let rows = logits.chunks_exact(classes).zip(labels).zip(losses);
    for ((row, &label), loss) in rows {
        let (largest, sum) = exponentials(row);
        // The difference first: beside logits of 100 a loss of 1e-5 would be rounding.
        *loss = sum.ln() + (largest - row.get(index(label)).copied().unwrap_or(f32::NAN));
    }
}

/// Turns logits into the gradient of `sum of weight x loss`: `weight x (softmax - 1 at the label)`.
pub fn backward(logits: &mut [f32], classes: usize, labels: &[i32], weights: &[f32]) {
    let rows = logits.chunks_exact_mut(classes).zip(labels).zip(weights);
    for ((row, &label), &weight) in rows {
        // Not scored is not there, whatever its logits are: torch leaves ignored positions out likewise.
        if weight == 0.0 {
            row.fill(0.0);
            continue;
        }
        let (largest, sum) = exponentials(row);
        let share = weight / sum;
        for at in (0..classes).step_by(LANES) {
            let value = exp(load(row, at) - f32x4::splat(largest)) * share;
            store(row, at, value);
        }
        if let Some(at) = row.get_mut(index(label)) {
            *at -= weight;
        }
    }
}

/// The largest of a row, and the sum of `exp(x - largest)`. NaN if any entry is.
fn exponentials(row: &[f32]) -> (f32, f32) {
    let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let whole = row.chunks_exact(LANES);
    let rest: f32 = whole.remainder().iter().map(|x| (x - largest).exp()).sum();
    let mut sum = f32x4::ZERO;
    for four in whole {
        sum += exp(load(four, 0) - f32x4::splat(largest));
    }
    (largest, sum.reduce_add() + rest)
}

/// The sum of `weight x loss`, and how many weights are not 0. A loss of weight 0 is left out, whatever it is.
pub fn totals(losses: &[f32], weights: &[f32]) -> [f32; 2] {
    let scored = losses.iter().zip(weights).filter(|&(_, &weight)| weight != 0.0);
    let mut totals = [0.0f64; 2];
    for (&loss, &weight) in scored {
        totals[0] += f64::from(loss) * f64::from(weight);
        totals[1] += 1.0;
    }
    totals.map(narrow)
}

fn index(label: i32) -> usize {
    usize::try_from(label).unwrap_or(usize::MAX)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "rounding to the result's precision is what is meant"
)]
fn narrow(x: f64) -> f32 {
    x as f32
}
