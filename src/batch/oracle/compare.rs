//! How far apart two vectors are.

/// Euclidean norm.
pub fn norm(a: &[f64]) -> f64 {
    a.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// `||a - reference|| / ||reference||`; the plain distance where the reference is zero.
pub fn relative_l2(a: &[f64], reference: &[f64]) -> f64 {
    let distance = a
        .iter()
        .zip(reference)
        .map(|(x, r)| (x - r) * (x - r))
        .sum::<f64>()
        .sqrt();
    let scale = norm(reference);
    if scale > 0.0 { distance / scale } else { distance }
}

/// Cosine of the angle between two vectors; NaN where either is zero.
pub fn cosine(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>() / (norm(a) * norm(b))
}
