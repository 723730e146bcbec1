//! From the loss back to every input, and to the gradients of parameters.

use microbatch_kernels::{attention, embedding, layer_norm, linear, loss};

use super::{Gradient, Memory, Reads, heads_of, part, weight};
use crate::engine::program::{Matrix, Op, Slope, WeightGradient};

impl Memory {
    pub(super) fn backward(&mut self, op: &Op, reads: &Reads) {
        let parameters = reads.parameters;
        match *op {
            Op::LossBackward { logits: place, classes } => {
                let mut logits = self.take(place);
                loss::backward(&mut logits, classes, &self.labels, reads.weights);
                self.put(place, logits);
            }
            Op::AffineInput {
                d_y,
                matrix,
                out: to,
                slope,
            } => {
                let mut out = self.take(to);
                let mut scratch = std::mem::take(&mut self.scratch);
                let slope = match slope {
                    Slope::One => linear::Slope::One,
                    Slope::Gelu(at) => linear::Slope::Times(self.at(at)),
                    Slope::Tanh(from) => linear::Slope::Tanh(self.at(from)),
                };
                linear::backward_input(self.at(d_y), weight(parameters, matrix), slope, &mut out, &mut scratch);
                self.put(to, out);
                self.scratch = scratch;
            }
            Op::LayerNormInput {
                d_y,
                x,
                moments,
                gain,
                width,
                add,
                out: to,
            } => {
                let mut out = self.take(to);
                let [d_y, x, moments] = [d_y, x, moments].map(|region| self.at(region));
                let add = add.map(|add| self.at(add));
                layer_norm::backward_input(d_y, x, moments, part(parameters, gain, width), add, &mut out);
                self.put(to, out);
            }
            Op::AttentionBackward {
                qkv,
                kept,
                d_mixed,
                heads,
                size,
                d_qkv: to,
                scratch: space_of,
                ..
            } => {
                let (mut d_qkv, mut space) = (self.take(to), self.take(space_of));
                let mut scratch = std::mem::take(&mut self.scratch);
                let task = attention::Backward {
                    qkv: self.at(qkv),
                    kept: self.at(kept),
                    d_out: self.at(d_mixed),
                    d_qkv: &mut d_qkv,
                    space: &mut space,
                };
                attention::backward(task, heads_of(reads, heads, size), &mut scratch);
                self.put(to, d_qkv);
                self.put(space_of, space);
                self.scratch = scratch;
            }
            _ => {}
        }
    }

    pub(super) fn weight_gradient(&mut self, of: &WeightGradient, reads: &Reads, gradient: &mut Gradient) {
        let mut scratch = std::mem::take(&mut self.scratch);
        let share = gradient.share;
        let flat = &mut *gradient.flat;
        match *of {
            WeightGradient::Affine { x, d_y, matrix, bias } => {
                let Matrix {
                    offset,
                    inputs,
                    outputs,
                    by_output,
                } = matrix;
                // A bias lies right after its weight.
                let (d_weight, rest) = flat[offset..].split_at_mut(inputs * outputs);
                let d_bias = bias.map(|_| &mut rest[..outputs]);
                let shape = (inputs, outputs, by_output);
                linear::backward_weight(self.at(x), self.at(d_y), shape, share, d_weight, d_bias, &mut scratch);
            }
            WeightGradient::LayerNorm {
                d_y,
                x,
                moments,
                gain,
                width,
                ..
            } => {
                // A bias lies right after its gain.
                let (d_gain, rest) = flat[gain..].split_at_mut(width);
                let [d_y, x, moments] = [d_y, x, moments].map(|region| self.at(region));
                layer_norm::backward_weight(d_y, x, moments, share, d_gain, &mut rest[..width], &mut scratch);
            }
            WeightGradient::Words {
                d_x,
                words,
                count,
                width,
            } => {
                let d_words = &mut flat[words..words + count * width];
                embedding::backward_words(&self.tokens, self.at(d_x), width, share, d_words, &mut scratch);
            }
            WeightGradient::Places {
                d_x,
                places,
                count,
                width,
            } => {
                let d_places = &mut flat[places..places + count * width];
                let columns = reads.program.columns;
                embedding::backward_places(self.at(d_x), columns, width, share, d_places, &mut scratch);
            }
        }
        self.scratch = scratch;
    }
}
