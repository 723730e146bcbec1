//! The causal transformer in plain f64: forward, and its backward written out by hand.

use std::ops::Range;

use super::attention::{attend, attend_backward};
use super::cross_entropy::{TokenLosses, token_cross_entropy};
use super::layers::{Matrix, Normed, gelu, gelu_slope, layer_norm, layer_norm_backward};
use super::{Numerics, Scored};

/// Sizes of a pre-LN causal transformer with learned positions. Parameters lie flat, one after another, row-major, in this order:
/// `token embedding` vocab x width, `position embedding` context x width; for each block `ln1 gain`, `ln1 bias` (width each),
/// `qkv weight` width x 3 width `[in][out]`, `qkv bias`, `out weight` width x width `[in][out]`, `out bias`, `ln2 gain`, `ln2 bias`,
/// `up weight` width x 4 width `[in][out]`, `up bias`, `down weight` 4 width x width `[in][out]`, `down bias`; then `final gain`,
/// `final bias`, and the untied `head` width x vocab `[in][out]` without bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransformerShape {
    /// Tokens of the vocabulary, padding included.
    pub vocab: usize,
    /// Width of the residual stream.
    pub width: usize,
    /// Blocks.
    pub layers: usize,
    /// Attention heads; divides the width.
    pub heads: usize,
    /// Longest length it takes.
    pub context: usize,
}

/// LayerNorm's epsilon, torch's default.
pub const LAYER_NORM_EPS: f64 = 1e-5;

/// Tensors of one block.
const BLOCK: usize = 12;

impl TransformerShape {
    /// Rows and columns of every tensor, in order; vectors have one row.
    pub fn tensors(self) -> Vec<(usize, usize)> {
        let w = self.width;
        let block = [
            (1, w),
            (1, w),
            (w, 3 * w),
            (1, 3 * w),
            (w, w),
            (1, w),
            (1, w),
            (1, w),
            (w, 4 * w),
            (1, 4 * w),
            (4 * w, w),
            (1, w),
        ];
        let mut all = vec![(self.vocab, w), (self.context, w)];
        all.extend(std::iter::repeat_n(block, self.layers).flatten());
        all.extend([(1, w), (1, w), (w, self.vocab)]);
        all
    }

    /// All parameters.
    pub fn parameters(self) -> usize {
        self.tensors().iter().map(|(rows, columns)| rows * columns).sum()
    }

    fn ranges(self) -> Vec<Range<usize>> {
        let mut start = 0;
        let lengths = self.tensors().into_iter().map(|(rows, columns)| rows * columns);
        lengths
            .map(|length| {
                start += length;
                start - length..start
            })
            .collect()
    }
}

/// What all blocks share.
#[derive(Clone, Copy)]
struct Common<'a> {
    shape: TransformerShape,
    columns: usize,
    numerics: Numerics<'a>,
}

/// Losses of one microbatch of `tokens.len() / columns` rows, and the gradient of their weighted sum with respect to all parameters, flat.
pub fn transformer_gradient(
    shape: TransformerShape,
    parameters: &[f64],
    columns: usize,
    tokens: &[u32],
    labels: &[i32],
    weights: &[f64],
) -> (TokenLosses, Vec<f64>) {
    let scored = Scored {
        tokens,
        labels,
        weights,
    };
    transformer_pass(shape, parameters, columns, scored, Numerics::default())
}

/// The same with roundings and dropout, whose places are, block by block, the output of attention and that of the MLP. The residual stream
/// itself is not rounded.
pub fn transformer_pass(
    shape: TransformerShape,
    parameters: &[f64],
    columns: usize,
    scored: Scored,
    numerics: Numerics,
) -> (TokenLosses, Vec<f64>) {
    let tokens = scored.tokens;
    let ranges = shape.ranges();
    let p = |i: usize| &parameters[ranges[i].clone()];
    let (w, n) = (shape.width, tokens.len());
    let mut x = vec![0.0; n * w];
    for (t, (row, &token)) in x.chunks_mut(w).zip(tokens).enumerate() {
        let word = &p(0)[token as usize * w..(token as usize + 1) * w];
        let place = &p(1)[t % columns * w..(t % columns + 1) * w];
        row.iter_mut().zip(word).zip(place).for_each(|((x, a), b)| *x = a + b);
    }
    let common = Common {
        shape,
        columns,
        numerics,
    };
    let mut blocks = Vec::new();
    for layer in 0..shape.layers {
        let kept = BlockState::forward(common, layer, |i| p(2 + layer * BLOCK + i), &x);
        x.clone_from(&kept.out);
        blocks.push(kept);
    }
    let last = 2 + shape.layers * BLOCK;
    let (normed, kept) = layer_norm(&x, p(last), p(last + 1), LAYER_NORM_EPS);
    let normed = numerics.rounded(normed);
    let head = Matrix {
        rows: w,
        columns: shape.vocab,
        values: p(last + 2),
    };
    let logits = numerics.rounded(head.apply(&normed, None));
    let losses = token_cross_entropy(&logits, scored.labels, scored.weights, shape.vocab);

    let mut gradient = vec![0.0; parameters.len()];
    let d_logits = numerics.rounded(losses.d_logits.clone());
    let d_normed = numerics.rounded(head.backward(&normed, &d_logits, &mut gradient[ranges[last + 2].clone()]));
    let (d_gain, d_bias) = pair(&mut gradient, &ranges[last], &ranges[last + 1]);
    let mut d_x = layer_norm_backward(&kept, p(last), &d_normed, d_gain, d_bias);
    for (layer, kept) in blocks.iter().enumerate().rev() {
        let first = 2 + layer * BLOCK;
        let slots = &ranges[first..first + BLOCK];
        d_x = kept.backward(common, layer, |i| p(first + i), &d_x, &mut gradient, slots);
    }
    for (t, (d, &token)) in d_x.chunks(w).zip(tokens).enumerate() {
        let word = ranges[0].start + token as usize * w;
        let place = ranges[1].start + t % columns * w;
        for (i, d) in d.iter().enumerate() {
            gradient[word + i] += d;
            gradient[place + i] += d;
        }
    }
    (losses, gradient)
}

/// What one block's backward needs of its forward.
struct BlockState {
    norm1: Normed,
    normed1: Vec<f64>,
    qkv: Vec<f64>,
    /// Attention probabilities: row of the batch, head, query, key.
    attention: Vec<f64>,
    mixed: Vec<f64>,
    norm2: Normed,
    normed2: Vec<f64>,
    up: Vec<f64>,
    active: Vec<f64>,
    out: Vec<f64>,
}

impl BlockState {
    fn forward<'a>(common: Common, layer: usize, p: impl Fn(usize) -> &'a [f64], x: &[f64]) -> Self {
        let Common {
            shape,
            columns,
            numerics,
        } = common;
        let w = shape.width;
        let linear = |weight: usize, rows: usize, columns: usize, x: &[f64]| {
            let matrix = Matrix {
                rows,
                columns,
                values: p(weight),
            };
            numerics.rounded(matrix.apply(x, Some(p(weight + 1))))
        };
        let (normed1, norm1) = layer_norm(x, p(0), p(1), LAYER_NORM_EPS);
        let normed1 = numerics.rounded(normed1);
        let qkv = linear(2, w, 3 * w, &normed1);
        let (attention, mixed) = attend(shape, columns, &qkv);
        let mixed = numerics.rounded(mixed);
        let mut projected = linear(4, w, w, &mixed);
        numerics.dropout(2 * layer, &mut projected);
        let middle: Vec<f64> = x.iter().zip(&projected).map(|(a, b)| a + b).collect();
        let (normed2, norm2) = layer_norm(&middle, p(6), p(7), LAYER_NORM_EPS);
        let normed2 = numerics.rounded(normed2);
        let up = linear(8, w, 4 * w, &normed2);
        let active = numerics.rounded(up.iter().copied().map(gelu).collect());
        let mut down = linear(10, 4 * w, w, &active);
        numerics.dropout(2 * layer + 1, &mut down);
        let out = middle.iter().zip(&down).map(|(a, b)| a + b).collect();
        Self {
            norm1,
            normed1,
            qkv,
            attention,
            mixed,
            norm2,
            normed2,
            up,
            active,
            out,
        }
    }

    fn backward<'a>(
        &self,
        common: Common,
        layer: usize,
        p: impl Fn(usize) -> &'a [f64],
        d_out: &[f64],
        gradient: &mut [f64],
        slots: &[Range<usize>],
    ) -> Vec<f64> {
        let Common {
            shape,
            columns,
            numerics,
        } = common;
        let w = shape.width;
        // From the gradient of a layer's output, unrounded, to that of its input, which is the output of the layer before.
        let linear = |weight: usize, rows: usize, columns: usize, x: &[f64], d: &[f64], gradient: &mut [f64]| {
            let matrix = Matrix {
                rows,
                columns,
                values: p(weight),
            };
            matrix.bias_backward(d, &mut gradient[slots[weight + 1].clone()]);
            numerics.rounded(matrix.backward(x, d, &mut gradient[slots[weight].clone()]))
        };
        let dropped = |place: usize, d: &[f64]| {
            let mut d = d.to_vec();
            numerics.dropout_backward(place, &mut d);
            numerics.rounded(d)
        };
        let d_down = dropped(2 * layer + 1, d_out);
        let mut d_up = linear(10, 4 * w, w, &self.active, &d_down, gradient);
        d_up.iter_mut().zip(&self.up).for_each(|(d, &x)| *d *= gelu_slope(x));
        let d_normed2 = linear(8, w, 4 * w, &self.normed2, &numerics.rounded(d_up), gradient);
        let (d_gain, d_bias) = pair(gradient, &slots[6], &slots[7]);
        let through = layer_norm_backward(&self.norm2, p(6), &d_normed2, d_gain, d_bias);
        let d_middle: Vec<f64> = d_out.iter().zip(&through).map(|(a, b)| a + b).collect();
        let d_mixed = linear(4, w, w, &self.mixed, &dropped(2 * layer, &d_middle), gradient);
        let d_qkv = numerics.rounded(attend_backward(shape, columns, &self.qkv, &self.attention, &d_mixed));
        let d_normed1 = linear(2, w, 3 * w, &self.normed1, &d_qkv, gradient);
        let (d_gain, d_bias) = pair(gradient, &slots[0], &slots[1]);
        let through = layer_norm_backward(&self.norm1, p(0), &d_normed1, d_gain, d_bias);
        d_middle.iter().zip(&through).map(|(a, b)| a + b).collect()
    }
}

/// Two neighbouring ranges of `all`, both mutable.
fn pair<'a>(all: &'a mut [f64], first: &Range<usize>, second: &Range<usize>) -> (&'a mut [f64], &'a mut [f64]) {
    all[first.start..second.end].split_at_mut(first.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_sees_no_later_one() {
        let shape = TransformerShape {
            vocab: 5,
            width: 8,
            layers: 1,
            heads: 2,
            context: 4,
        };
        let start: Vec<f64> = (0..shape.parameters())
            .map(|i| ((i * 29 + 3) % 97) as f64 / 97.0 - 0.5)
            .collect();
        let losses = |tokens| {
            transformer_gradient(shape, &start, 4, tokens, &[1, 1, 1, 1], &[1.0; 4])
                .0
                .per_token
        };
        let (before, after) = (losses(&[1, 2, 3, 4]), losses(&[1, 2, 3, 0]));
        assert_eq!(before[..3], after[..3]);
        assert!((before[3] - after[3]).abs() > 1e-6);
    }
}
