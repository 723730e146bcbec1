//! Keeping marks apart.

/// Moves values as little as needed for any two to be `apart`, in their order; of equal ones the earlier stays above. `None` keeps
/// its place in the list and takes no room.
pub fn spread(values: &[Option<f64>], apart: f64) -> Vec<Option<f64>> {
    let mut order: Vec<(usize, f64)> = (0..)
        .zip(values)
        .filter_map(|(at, value)| value.filter(|value| value.is_finite()).map(|value| (at, value)))
        .collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    let middle = |values: &[(usize, f64)]| values.iter().map(|value| value.1).sum::<f64>() / values.len().max(1) as f64;
    let before = middle(&order);
    for i in 1..order.len() {
        order[i].1 = order[i].1.max(order[i - 1].1 + apart);
    }
    // Pushing goes one way only; moving all back keeps the middle where it was.
    let shift = before - middle(&order);
    let mut spread = vec![None; values.len()];
    for (at, value) in order {
        spread[at] = Some(value + shift);
    }
    spread
}
