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

/// The weight of each position's loss inside its microbatch's sum; 0 where nothing is scored.
pub fn token_weights(weights: TokenWeights, batch: &PaddedBatch) -> Vec<f64> {
    let scored = |label: &i32| *label != IGNORE_INDEX;
    let rows = batch.labels.chunks(batch.width);
    let per_row: Vec<f64> = match weights {
        TokenWeights::Uniform => rows.map(|_| 1.0).collect(),
        TokenWeights::ExampleMean => {
            let count = |row: &[i32]| row.iter().filter(|l| scored(l)).count();
            rows.map(count)
                .map(|n| if n == 0 { 0.0 } else { 1.0 / n as f64 })
                .collect()
        }
    };
    let rows = batch.labels.chunks(batch.width).zip(per_row);
    rows.flat_map(|(row, w)| row.iter().map(move |l| if scored(l) { w } else { 0.0 }))
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
