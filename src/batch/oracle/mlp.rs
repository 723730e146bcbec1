//! The token MLP: `logits = fc2 @ tanh(fc1 @ embed[token] + b1) + b2`, position by position.

use super::cross_entropy::{TokenLosses, token_cross_entropy};

/// Sizes of a token MLP. Parameters lie flat, one after another, in this order, each row-major with Linear weights `[out][in]`:
/// `embed.weight` vocab x embed, `fc1.weight` hidden x embed, `fc1.bias`, `fc2.weight` vocab x hidden, `fc2.bias`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MlpShape {
    /// Tokens of the vocabulary, padding included.
    pub vocab: usize,
    /// Width of the embedding.
    pub embed: usize,
    /// Width of the tanh layer.
    pub hidden: usize,
}

impl MlpShape {
    /// Lengths of the five tensors, in order.
    pub fn lengths(self) -> [usize; 5] {
        [
            self.vocab * self.embed,
            self.hidden * self.embed,
            self.hidden,
            self.vocab * self.hidden,
            self.vocab,
        ]
    }

    /// All parameters.
    pub fn parameters(self) -> usize {
        self.lengths().iter().sum()
    }

    fn split(self, flat: &[f64]) -> [&[f64]; 5] {
        let mut rest = flat;
        self.lengths().map(|length| {
            let (head, tail) = rest.split_at(length);
            rest = tail;
            head
        })
    }
}

/// Losses of one microbatch and the gradient of their weighted sum with respect to all parameters, flat.
pub fn mlp_gradient(
    shape: MlpShape,
    parameters: &[f64],
    tokens: &[u32],
    labels: &[i32],
    weights: &[f64],
) -> (TokenLosses, Vec<f64>) {
    let MlpShape { vocab, embed, hidden } = shape;
    let [embedding, w1, b1, w2, b2] = shape.split(parameters);
    let row = |token: u32| &embedding[token as usize * embed..(token as usize + 1) * embed];

    let mut activations = vec![0.0; tokens.len() * hidden];
    let mut logits = vec![0.0; tokens.len() * vocab];
    for (t, &token) in tokens.iter().enumerate() {
        let h = &mut activations[t * hidden..(t + 1) * hidden];
        affine(w1, b1, row(token), h);
        for x in h.iter_mut() {
            *x = x.tanh();
        }
        affine(w2, b2, h, &mut logits[t * vocab..(t + 1) * vocab]);
    }
    let losses = token_cross_entropy(&logits, labels, weights, vocab);

    let mut gradient = vec![0.0; shape.parameters()];
    let [l0, l1, l2, l3, _] = shape.lengths();
    let (g_embed, rest) = gradient.split_at_mut(l0);
    let (g_w1, rest) = rest.split_at_mut(l1);
    let (g_b1, rest) = rest.split_at_mut(l2);
    let (g_w2, g_b2) = rest.split_at_mut(l3);
    for (t, &token) in tokens.iter().enumerate() {
        let h = &activations[t * hidden..(t + 1) * hidden];
        let mut d_h = vec![0.0; hidden];
        affine_backward(
            w2,
            h,
            &losses.d_logits[t * vocab..(t + 1) * vocab],
            g_w2,
            g_b2,
            &mut d_h,
        );
        for (d, y) in d_h.iter_mut().zip(h) {
            *d *= 1.0 - y * y;
        }
        let into = &mut g_embed[token as usize * embed..(token as usize + 1) * embed];
        affine_backward(w1, row(token), &d_h, g_w1, g_b1, into);
    }
    (losses, gradient)
}

/// `out = w @ x + b`, w row-major [out][in].
pub(super) fn affine(w: &[f64], b: &[f64], x: &[f64], out: &mut [f64]) {
    for (o, (y, bias)) in out.iter_mut().zip(b).enumerate() {
        *y = bias
            + w[o * x.len()..(o + 1) * x.len()]
                .iter()
                .zip(x)
                .map(|(w, x)| w * x)
                .sum::<f64>();
    }
}

/// Adds the gradients of `affine` given `d_out`.
pub(super) fn affine_backward(w: &[f64], x: &[f64], d_out: &[f64], d_w: &mut [f64], d_b: &mut [f64], d_x: &mut [f64]) {
    for (o, &d) in d_out.iter().enumerate() {
        d_b[o] += d;
        for i in 0..x.len() {
            d_w[o * x.len() + i] += d * x[i];
            d_x[i] += d * w[o * x.len() + i];
        }
    }
}
