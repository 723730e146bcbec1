//! The causal transformer in plain f64: forward, and its backward written out by hand.

use std::ops::Range;

use super::cross_entropy::{TokenLosses, token_cross_entropy};
use super::layers::{Matrix, Normed, gelu, gelu_slope, layer_norm, layer_norm_backward};

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

/// Losses of one microbatch of `tokens.len() / columns` rows, and the gradient of their weighted sum with respect to all parameters, flat.
pub fn transformer_gradient(
    shape: TransformerShape,
    parameters: &[f64],
    columns: usize,
    tokens: &[u32],
    labels: &[i32],
    weights: &[f64],
) -> (TokenLosses, Vec<f64>) {
    let ranges = shape.ranges();
    let p = |i: usize| &parameters[ranges[i].clone()];
    let (w, n) = (shape.width, tokens.len());
    let mut x = vec![0.0; n * w];
    for (t, (row, &token)) in x.chunks_mut(w).zip(tokens).enumerate() {
        let word = &p(0)[token as usize * w..(token as usize + 1) * w];
        let place = &p(1)[t % columns * w..(t % columns + 1) * w];
        row.iter_mut().zip(word).zip(place).for_each(|((x, a), b)| *x = a + b);
    }
    let mut blocks = Vec::new();
    for layer in 0..shape.layers {
        let kept = BlockState::forward(shape, columns, |i| p(2 + layer * BLOCK + i), &x);
        x.clone_from(&kept.out);
        blocks.push(kept);
    }
    let last = 2 + shape.layers * BLOCK;
    let (normed, kept) = layer_norm(&x, p(last), p(last + 1), LAYER_NORM_EPS);
    let head = Matrix {
        rows: w,
        columns: shape.vocab,
        values: p(last + 2),
    };
    let losses = token_cross_entropy(&head.apply(&normed, None), labels, weights, shape.vocab);

    let mut gradient = vec![0.0; parameters.len()];
    let d_normed = head.backward(&normed, &losses.d_logits, &mut gradient[ranges[last + 2].clone()]);
    let (d_gain, d_bias) = pair(&mut gradient, &ranges[last], &ranges[last + 1]);
    let mut d_x = layer_norm_backward(&kept, p(last), &d_normed, d_gain, d_bias);
    for (layer, kept) in blocks.iter().enumerate().rev() {
        let first = 2 + layer * BLOCK;
        let slots = &ranges[first..first + BLOCK];
        d_x = kept.backward(shape, columns, |i| p(first + i), &d_x, &mut gradient, slots);
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
    fn forward<'a>(shape: TransformerShape, columns: usize, p: impl Fn(usize) -> &'a [f64], x: &[f64]) -> Self {
        let w = shape.width;
        let (normed1, norm1) = layer_norm(x, p(0), p(1), LAYER_NORM_EPS);
        let qkv = Matrix {
            rows: w,
            columns: 3 * w,
            values: p(2),
        }
        .apply(&normed1, Some(p(3)));
        let (attention, mixed) = attend(shape, columns, &qkv);
        let projected = Matrix {
            rows: w,
            columns: w,
            values: p(4),
        }
        .apply(&mixed, Some(p(5)));
        let middle: Vec<f64> = x.iter().zip(&projected).map(|(a, b)| a + b).collect();
        let (normed2, norm2) = layer_norm(&middle, p(6), p(7), LAYER_NORM_EPS);
        let up = Matrix {
            rows: w,
            columns: 4 * w,
            values: p(8),
        }
        .apply(&normed2, Some(p(9)));
        let active: Vec<f64> = up.iter().copied().map(gelu).collect();
        let down = Matrix {
            rows: 4 * w,
            columns: w,
            values: p(10),
        }
        .apply(&active, Some(p(11)));
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
        shape: TransformerShape,
        columns: usize,
        p: impl Fn(usize) -> &'a [f64],
        d_out: &[f64],
        gradient: &mut [f64],
        slots: &[Range<usize>],
    ) -> Vec<f64> {
        let w = shape.width;
        let linear = |weight: usize, rows: usize, columns: usize, x: &[f64], d: &[f64], gradient: &mut [f64]| {
            let matrix = Matrix {
                rows,
                columns,
                values: p(weight),
            };
            matrix.bias_backward(d, &mut gradient[slots[weight + 1].clone()]);
            matrix.backward(x, d, &mut gradient[slots[weight].clone()])
        };
        let mut d_up = linear(10, 4 * w, w, &self.active, d_out, gradient);
        d_up.iter_mut().zip(&self.up).for_each(|(d, &x)| *d *= gelu_slope(x));
        let d_normed2 = linear(8, w, 4 * w, &self.normed2, &d_up, gradient);
        let (d_gain, d_bias) = pair(gradient, &slots[6], &slots[7]);
        let through = layer_norm_backward(&self.norm2, p(6), &d_normed2, d_gain, d_bias);
        let d_middle: Vec<f64> = d_out.iter().zip(&through).map(|(a, b)| a + b).collect();
        let d_mixed = linear(4, w, w, &self.mixed, &d_middle, gradient);
        let d_qkv = attend_backward(shape, columns, &self.qkv, &self.attention, &d_mixed);
        let d_normed1 = linear(2, w, 3 * w, &self.normed1, &d_qkv, gradient);
        let (d_gain, d_bias) = pair(gradient, &slots[0], &slots[1]);
        let through = layer_norm_backward(&self.norm1, p(0), &d_normed1, d_gain, d_bias);
        d_middle.iter().zip(&through).map(|(a, b)| a + b).collect()
    }
}

/// Softmax attention over earlier positions of the same row, head by head: the probabilities and the mixed values.
fn attend(shape: TransformerShape, columns: usize, qkv: &[f64]) -> (Vec<f64>, Vec<f64>) {
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

fn attend_backward(
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

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Two neighbouring ranges of `all`, both mutable.
fn pair<'a>(all: &'a mut [f64], first: &Range<usize>, second: &Range<usize>) -> (&'a mut [f64], &'a mut [f64]) {
    all[first.start..second.end].split_at_mut(first.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The slope of the loss along a direction, by central differences, equals the gradient's component along it.
    #[test]
    fn backward_equals_finite_differences() {
        let shape = TransformerShape {
            vocab: 5,
            width: 8,
            layers: 2,
            heads: 2,
            context: 4,
        };
        // A fixed, irregular start; large enough that every branch (attention, GELU, both norms) matters.
        let start: Vec<f64> = (0..shape.parameters())
            .map(|i| ((i * 37 + 11) % 101) as f64 / 101.0 - 0.45)
            .collect();
        let (tokens, labels) = ([1, 2, 3, 4, 2, 2, 0, 0], [2, 3, 4, -100, 2, 1, -100, -100]);
        let weights = [0.5, 1.0, 1.0, 0.0, 2.0, 1.0, 0.0, 0.0];
        let loss = |p: &[f64]| transformer_gradient(shape, p, 4, &tokens, &labels, &weights).0.sum;
        let (_, gradient) = transformer_gradient(shape, &start, 4, &tokens, &labels, &weights);
        for range in shape.ranges() {
            let direction: Vec<f64> = range.clone().map(|i| ((i * 7 % 5) as f64 - 1.7) / 3.0).collect();
            let moved = |h: f64| {
                let mut p = start.clone();
                p[range.clone()]
                    .iter_mut()
                    .zip(&direction)
                    .for_each(|(p, d)| *p += h * d);
                loss(&p)
            };
            let h = 1e-5;
            let slope = (moved(h) - moved(-h)) / (2.0 * h);
            let along = dot(&gradient[range.clone()], &direction);
            assert!(
                (slope - along).abs() < 1e-7 * (1.0 + along.abs()),
                "parameters {range:?}: {slope} against {along}"
            );
        }
    }

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
