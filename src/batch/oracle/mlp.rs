//! The token MLP: `logits = fc2 @ tanh(norm(fc1 @ embed[token] + b1)) + b2`, position by position but for the BatchNorm `norm`, which it may
//! have or not.

use std::ops::Range;

use super::{
    BatchNorm, Momentum, Numerics,
    batch_norm::{BATCH_NORM_EPS, TooFewRows},
    cross_entropy::{TokenLosses, token_cross_entropy},
};
use crate::batch::example::holds_token;

/// Sizes of a token MLP. Parameters lie flat, one after another, in this order, each row-major with Linear weights `[out][in]`:
/// `embed.weight` vocab x embed, `fc1.weight` hidden x embed, `fc1.bias`, with BatchNorm its `weight` and `bias`, `fc2.weight`
/// vocab x hidden, `fc2.bias`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MlpShape {
    /// Tokens of the vocabulary, padding included.
    pub vocab: usize,
    /// Width of the embedding.
    pub embed: usize,
    /// Width of the tanh layer.
    pub hidden: usize,
    /// Whether the tanh layer's inputs are normalised over all positions of the microbatch that hold a token; padding has no part in it.
    pub batch_norm: bool,
}

impl MlpShape {
    /// Rows and columns of every tensor, in order; vectors have one row.
    pub fn tensors(self) -> Vec<(usize, usize)> {
        let mut all = vec![(self.vocab, self.embed), (self.hidden, self.embed), (1, self.hidden)];
        if self.batch_norm {
            all.extend([(1, self.hidden); 2]);
        }
        all.extend([(self.vocab, self.hidden), (1, self.vocab)]);
        all
    }

    /// Lengths of the tensors, in order.
    pub fn lengths(self) -> Vec<usize> {
        self.tensors()
            .into_iter()
            .map(|(rows, columns)| rows * columns)
            .collect()
    }

    /// All parameters.
    pub fn parameters(self) -> usize {
        self.lengths().iter().sum()
    }

    /// Where its seven parts lie; those of a BatchNorm that it has not are empty.
    fn parts(self) -> [Range<usize>; 7] {
        let norm = if self.batch_norm { self.hidden } else { 0 };
        let lengths = [
            self.vocab * self.embed,
            self.hidden * self.embed,
            self.hidden,
            norm,
            norm,
            self.vocab * self.hidden,
            self.vocab,
        ];
        let mut start = 0;
        lengths.map(|length| {
            start += length;
            start - length..start
        })
    }
}

/// One microbatch: a token, a label and a weight for each position.
#[derive(Clone, Copy, Debug)]
pub struct Scored<'a> {
    /// What stands there.
    pub tokens: &'a [u32],
    /// What should come next, or [`crate::batch::IGNORE_INDEX`].
    pub labels: &'a [i32],
    /// What the loss is multiplied by in the sum.
    pub weights: &'a [f64],
}

/// Losses of one microbatch and the gradient of their weighted sum with respect to all parameters, flat. Both are NaN where there is a
/// BatchNorm and fewer than 2 positions hold a token.
pub fn mlp_gradient(
    shape: MlpShape,
    parameters: &[f64],
    tokens: &[u32],
    labels: &[i32],
    weights: &[f64],
) -> (TokenLosses, Vec<f64>) {
    let scored = Scored {
        tokens,
        labels,
        weights,
    };
    // Running statistics have no part in training; these are thrown away.
    let mut norm = BatchNorm::new(shape.hidden, BATCH_NORM_EPS, Momentum::Cumulative);
    mlp_pass(shape, parameters, scored, Numerics::default(), &mut norm).unwrap_or_else(|TooFewRows { .. }| {
        let logits = vec![f64::NAN; tokens.len() * shape.vocab];
        let losses = token_cross_entropy(&logits, labels, weights, shape.vocab);
        (losses, vec![f64::NAN; shape.parameters()])
    })
}

/// The same with roundings and dropout. Where the shape has a BatchNorm, `norm`'s weight and bias are set from the parameters, and its
/// running statistics move.
pub fn mlp_pass(
    shape: MlpShape,
    parameters: &[f64],
    scored: Scored,
    numerics: Numerics,
    norm: &mut BatchNorm,
) -> Result<(TokenLosses, Vec<f64>), TooFewRows> {
    let MlpShape {
        vocab, embed, hidden, ..
    } = shape;
    let parts = shape.parts();
    let [embedding, w1, b1, gain, shift, w2, b2] = parts.each_ref().map(|part| &parameters[part.clone()]);
    let tokens = scored.tokens;
    let row = |token: u32| &embedding[token as usize * embed..(token as usize + 1) * embed];

    let mut before = vec![0.0; tokens.len() * hidden];
    for (out, &token) in before.chunks_mut(hidden).zip(tokens) {
        affine(w1, b1, row(token), out);
    }
    numerics.layer(&mut before);
    let real: Vec<usize> = (0..tokens.len()).filter(|&t| holds_token(tokens[t])).collect();
    let mut normed = before;
    let mut kept = None;
    if shape.batch_norm {
        (norm.weight, norm.bias) = (gain.to_vec(), shift.to_vec());
        let pass = norm.train(&gather(&normed, &real, hidden))?;
        scatter(&pass.output, &real, &mut normed, hidden);
        numerics.layer(&mut normed);
        kept = Some(pass);
    }
    let active: Vec<f64> = normed.iter().map(|x| x.tanh()).collect();
    let mut sent = numerics.rounded(active.clone());
    numerics.dropout(0, &mut sent);
    let mut logits = vec![0.0; tokens.len() * vocab];
    for (out, h) in logits.chunks_mut(vocab).zip(sent.chunks(hidden)) {
        affine(w2, b2, h, out);
    }
    numerics.layer(&mut logits);
    let losses = token_cross_entropy(&logits, scored.labels, scored.weights, vocab);

    let mut gradient = vec![0.0; shape.parameters()];
    let [g_embed, g_w1, g_b1, g_gain, g_shift, g_w2, g_b2] = cut(&mut gradient, &parts);
    let d_logits = numerics.rounded(losses.d_logits.clone());
    let mut d = vec![0.0; active.len()];
    let outputs = d_logits.chunks(vocab).zip(sent.chunks(hidden));
    for ((d_out, h), d_h) in outputs.zip(d.chunks_mut(hidden)) {
        affine_backward(w2, h, d_out, g_w2, g_b2, d_h);
    }
    numerics.dropout_backward(0, &mut d);
    numerics.layer(&mut d);
    // A layer's slope is taken at its rounded input; only what goes in and out is rounded.
    d.iter_mut().zip(&active).for_each(|(d, y)| *d *= 1.0 - y * y);
    if let Some(pass) = kept {
        numerics.layer(&mut d);
        let back = norm.backward(&pass, &gather(&d, &real, hidden));
        g_gain.copy_from_slice(&back.weight);
        g_shift.copy_from_slice(&back.bias);
        scatter(&back.input, &real, &mut d, hidden);
    }
    numerics.layer(&mut d);
    for (d_h, &token) in d.chunks(hidden).zip(tokens) {
        let into = &mut g_embed[token as usize * embed..(token as usize + 1) * embed];
        affine_backward(w1, row(token), d_h, g_w1, g_b1, into);
    }
    Ok((losses, gradient))
}

/// The rows at these places.
fn gather(values: &[f64], places: &[usize], width: usize) -> Vec<Vec<f64>> {
    places
        .iter()
        .map(|t| values[t * width..(t + 1) * width].to_vec())
        .collect()
}

/// Puts rows back to these places.
fn scatter(rows: &[Vec<f64>], places: &[usize], into: &mut [f64], width: usize) {
    for (row, t) in rows.iter().zip(places) {
        into[t * width..(t + 1) * width].copy_from_slice(row);
    }
}

/// The parts of `all`, which lie one after another.
fn cut<'a, const N: usize>(all: &'a mut [f64], parts: &[Range<usize>; N]) -> [&'a mut [f64]; N] {
    let mut rest = all;
    parts.each_ref().map(|part| {
        let (head, tail) = std::mem::take(&mut rest).split_at_mut(part.len());
        rest = tail;
        head
    })
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
