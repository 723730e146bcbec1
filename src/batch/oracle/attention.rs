//! Causal softmax attention in plain f64, forward and backward.

use super::TransformerShape;

/// Softmax attention over earlier positions of the same row, head by head: the probabilities and the mixed values.
pub(super) fn attend(shape: TransformerShape, columns: usize, qkv: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (w, heads) = (shape.width, shape.heads);
    let (size, n) = (w / heads, qkv.len() / (3 * w));
    let scale = 1.0 / (size as f64).sqrt();
    let part = |t: usize, which: usize, h: usize| &qkv[t * 3 * w + which * w + h * size..][..size];
    let mut attention = vec![0.0; n * heads * columns];
    let mut mixed = vec![0.0; n * w];
    for t in 0..n {
        let first = t - t % columns;
        for h in 0..heads {
            let row = &mut attention[(t * heads + h) * columns..][..=t - first];
            for (k, score) in row.iter_mut().enumerate() {
                *score = scale * dot(part(t, 0, h), part(first + k, 1, h));
            }
            let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            for s in row.iter_mut() {
                *s = (*s - max).exp();
            }
            let total: f64 = row.iter().sum();
            for s in row.iter_mut() {
                *s /= total;
            }
            for (k, a) in row.iter().enumerate() {
                let into = &mut mixed[t * w + h * size..][..size];
                into.iter_mut()
                    .zip(part(first + k, 2, h))
                    .for_each(|(m, v)| *m += a * v);
            }
        }
    }
    (attention, mixed)
}

/// The gradient of queries, keys and values, given that of the mixed values.
pub(super) fn attend_backward(
    shape: TransformerShape,
    columns: usize,
    qkv: &[f64],
    attention: &[f64],
    d_mixed: &[f64],
) -> Vec<f64> {
    let (w, heads) = (shape.width, shape.heads);
    let (size, n) = (w / heads, qkv.len() / (3 * w));
    let scale = 1.0 / (size as f64).sqrt();
    let at = |t: usize, which: usize, h: usize| t * 3 * w + which * w + h * size;
    let mut d_qkv = vec![0.0; qkv.len()];
    for t in 0..n {
        let first = t - t % columns;
        for h in 0..heads {
            let row = &attention[(t * heads + h) * columns..][..=t - first];
            let d = &d_mixed[t * w + h * size..][..size];
            let d_row: Vec<f64> = (0..row.len())
                .map(|k| dot(d, &qkv[at(first + k, 2, h)..][..size]))
                .collect();
            let mean = dot(row, &d_row);
            for (k, (a, d_a)) in row.iter().zip(&d_row).enumerate() {
                let d_score = scale * a * (d_a - mean);
                for i in 0..size {
                    d_qkv[at(first + k, 2, h) + i] += a * d[i];
                    d_qkv[at(t, 0, h) + i] += d_score * qkv[at(first + k, 1, h) + i];
                    d_qkv[at(first + k, 1, h) + i] += d_score * qkv[at(t, 0, h) + i];
                }
            }
        }
    }
    d_qkv
}

/// Inner product.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
