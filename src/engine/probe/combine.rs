//! Sums of gradients with coefficients: many at once, and one in two orders.

use burn::tensor::{Tensor, TensorData};

use crate::{batch::GroupFacts, engine::microbatch::to_f32};

/// So many gradients stand in one matrix at a time: enough for a product to be worth its launch, few enough to copy.
pub(super) const BLOCK: usize = 16;

/// One row for each list of coefficients: `sum_k coefficient_k * gradient_k`, rows x parameters. A gradient that is `None` is zero.
pub(super) fn all(coefficients: &[Vec<f64>], gradients: &[Option<Tensor<1>>], like: &Tensor<1>) -> Tensor<2> {
    let [parameters] = like.dims();
    let (rows, device) = (coefficients.len(), like.device());
    let there: Vec<(usize, &Tensor<1>)> = gradients
        .iter()
        .enumerate()
        .filter_map(|(k, gradient)| Some((k, gradient.as_ref()?)))
        .collect();
    let blocks = there.chunks(BLOCK).map(|block| {
        let weights = coefficients
            .iter()
            .flat_map(|row| block.iter().map(|(k, _)| row.get(*k).copied().map_or(0.0, to_f32)));
        let weights = TensorData::new(weights.collect(), [rows, block.len()]);
        let stacked: Tensor<2> = Tensor::stack(block.iter().map(|(_, gradient)| (*gradient).clone()).collect(), 0);
        Tensor::<2>::from_data(weights, &device).matmul(stacked)
    });
    blocks
        .reduce(|sum, block| sum + block)
        .unwrap_or_else(|| Tensor::zeros([rows, parameters], &device))
}

/// One sum in the order of work, as a lane makes it: replica by replica, then over replicas; and the same sum in reverse. Both 1 x
/// parameters. What multiplies all microbatches alike stays outside.
pub(super) fn both_ways(group: &GroupFacts, gradients: &[Option<Tensor<1>>], like: &Tensor<1>) -> [Tensor<2>; 2] {
    let of_replica = |replica: u32| {
        let all = group.microbatches.iter().zip(gradients);
        all.filter(move |(k, _)| k.replica == replica)
            .filter_map(|(_, gradient)| gradient.clone())
    };
    let sum = |terms: &mut dyn Iterator<Item = Tensor<1>>| terms.reduce(|a, b| a + b);
    let forth = sum(&mut (0..group.replicas).filter_map(|replica| sum(&mut of_replica(replica))));
    let back = sum(&mut (0..group.replicas)
        .rev()
        .filter_map(|replica| sum(&mut of_replica(replica).rev())));
    [forth, back].map(|total| total.unwrap_or_else(|| like.zeros_like()).unsqueeze::<2>())
}
