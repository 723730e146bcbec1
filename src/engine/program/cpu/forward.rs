//! From tokens to the loss of each position.

use microbatch_kernels::{attention, embedding, layer_norm, linear, loss};

use super::{Memory, Reads, heads_of, part, weight};
use crate::engine::program::{Matrix, Op, Region, Then};

impl Memory {
    pub(super) fn forward(&mut self, op: &Op, reads: &Reads) {
        let parameters = reads.parameters;
        match *op {
            Op::Embed {
                words,
                places,
                width,
                out: to,
            } => {
                let mut out = self.take(to);
                let columns = reads.program.columns;
                let places = places.map(|places| (part(parameters, places, columns * width), columns));
                embedding::forward(&self.tokens, &parameters[words..], places, width, &mut out);
                self.put(to, out);
            }
            Op::LayerNorm {
                x,
                gain,
                bias,
                width,
                out: to,
                moments: kept,
            } => {
                let (mut out, mut moments) = (self.take(to), self.take(kept));
                let [gain, bias] = [gain, bias].map(|offset| part(parameters, offset, width));
                layer_norm::forward(self.at(x), gain, bias, &mut out, &mut moments);
                self.put(to, out);
                self.put(kept, moments);
            }
            Op::Affine {
                x,
                matrix,
                bias,
                out: to,
                then,
            } => self.affine(
                x,
                matrix,
                bias.map(|bias| part(parameters, bias, matrix.outputs)),
                to,
                then,
                reads,
            ),
            Op::Attention {
                qkv,
                heads,
                size,
                out: to,
                kept,
            } => {
                let (mut out, mut probabilities) = (self.take(to), self.take(kept));
                let mut scratch = std::mem::take(&mut self.scratch);
                let heads = heads_of(reads, heads, size);
                attention::forward(self.at(qkv), heads, &mut out, &mut probabilities, &mut scratch);
                self.put(to, out);
                self.put(kept, probabilities);
                self.scratch = scratch;
            }
            Op::Loss {
                logits,
                classes,
                losses: to,
            } => {
                let mut losses = self.take(to);
                loss::forward(self.at(logits), classes, &self.labels, &mut losses);
                self.put(to, losses);
            }
            _ => {}
        }
    }

    fn affine(&mut self, x: Region, matrix: Matrix, bias: Option<&[f32]>, to: Region, then: Then, reads: &Reads) {
        let mut out = self.take(to);
        let mut active = match then {
            Then::Gelu(region) => self.take(region),
            _ => Vec::new(),
        };
        let mut scratch = std::mem::take(&mut self.scratch);
        let what = match then {
            Then::Keep => linear::Then::Keep,
            Then::Add(residual) => linear::Then::Add(self.at(residual)),
            Then::Gelu(_) => linear::Then::Gelu(&mut active),
            Then::Tanh => linear::Then::Tanh,
        };
        linear::forward(
            self.at(x),
            weight(reads.parameters, matrix),
            bias,
            what,
            &mut out,
            &mut scratch,
        );
        if let Then::Gelu(region) = then {
            self.put(region, active);
        }
        self.put(to, out);
        self.scratch = scratch;
    }
}
