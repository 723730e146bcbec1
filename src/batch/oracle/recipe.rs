//! Contributions to a gradient: the only thing a convention does is weigh them.

use crate::batch::{Convention, GroupFacts, IGNORE_INDEX, PaddedBatch, TokenWeights};

/// One microbatch's loss sum and the gradient of that sum.
#[derive(Clone, Debug, PartialEq)]
pub struct Contribution {
    /// S (with the convention's token weights).
    pub loss_sum: f64,
    /// g_k, flat.
    pub gradient: Vec<f64>,
}

/// The weight that every scored position of a row has inside its microbatch's sum; `None` where the row has none.
pub fn row_weights(weights: TokenWeights, batch: &PaddedBatch) -> impl Iterator<Item = Option<f64>> {
    let rows = batch.labels.chunks(batch.width);
    let counts = rows.map(|row| row.iter().filter(|label| **label != IGNORE_INDEX).count());
    counts.map(move |n| match (n, weights) {
        (0, _) => None,
        (_, TokenWeights::Uniform) => Some(1.0),
        (n, TokenWeights::ExampleMean) => Some(1.0 / n as f64),
    })
}

/// The weight of each position's loss inside its microbatch's sum; 0 where nothing is scored.
pub fn token_weights(weights: TokenWeights, batch: &PaddedBatch) -> Vec<f64> {
    let rows = batch.labels.chunks(batch.width).zip(row_weights(weights, batch));
    rows.flat_map(|(row, weight)| {
        let of = move |label: &i32| if *label == IGNORE_INDEX { None } else { weight };
        row.iter().map(move |label| of(label).unwrap_or(0.0))
    })
    .collect()
}

/// The reduced gradient of a group under a convention: `1/D * sum_k coefficient_k * g_k`.
/// `contributions` stand in the order of `group.microbatches`.
pub fn combine(convention: &Convention, group: &GroupFacts, contributions: &[Contribution]) -> Vec<f64> {
    let length = contributions.first().map_or(0, |c| c.gradient.len());
    let mut reduced = vec![0.0; length];
    for (k, contribution) in group.microbatches.iter().zip(contributions) {
        let factor = convention.coefficient(group, k) / f64::from(group.replicas);
        for (sum, g) in reduced.iter_mut().zip(&contribution.gradient) {
            *sum += factor * g;
        }
    }
    reduced
}
