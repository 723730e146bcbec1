//! Masked token cross-entropy: the loss of each position, their sum, and how many were scored.

use crate::batch::IGNORE_INDEX;

/// Losses of all positions of a microbatch and the gradient of their weighted sum.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenLosses {
    /// Per position; 0 where ignored.
    pub per_token: Vec<f64>,
    /// Sum of weight x loss over supervised positions.
    pub sum: f64,
    /// Supervised positions.
    pub count: u64,
    /// d sum / d logits, `positions * vocab`, row-major.
    pub d_logits: Vec<f64>,
}

/// `loss[t] = logsumexp(logits[t]) - logits[t][label[t]]`, with `weights[t]` in the sum (1 everywhere for a plain sum).
pub fn token_cross_entropy(logits: &[f64], labels: &[i32], weights: &[f64], vocab: usize) -> TokenLosses {
    let mut out = TokenLosses {
        per_token: vec![0.0; labels.len()],
        sum: 0.0,
        count: 0,
        d_logits: vec![0.0; logits.len()],
    };
    for (t, (&label, &weight)) in labels.iter().zip(weights).enumerate() {
        let Ok(label) = usize::try_from(label) else {
            debug_assert_eq!(label, IGNORE_INDEX, "only ignore_index is negative");
            continue;
        };
        let row = &logits[t * vocab..(t + 1) * vocab];
        let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let exps: f64 = row.iter().map(|x| (x - max).exp()).sum();
        let loss = exps.ln() + max - row[label];
        out.per_token[t] = loss;
        out.sum += weight * loss;
        out.count += 1;
        for (v, x) in row.iter().enumerate() {
            let target = if v == label { 1.0 } else { 0.0 };
            out.d_logits[t * vocab + v] = weight * ((x - max).exp() / exps - target);
        }
    }
    out
}
