//! From the loss back to every input.

use microbatch_kernels::{attention, layer_norm, linear, loss};

use super::{Memory, Reads, heads_of, part, weight};
use crate::engine::program::{Op, Slope};

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
}
