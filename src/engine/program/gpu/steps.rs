//! Each operation of a list as a launch or two.

use super::{
    kernel::Kernel,
    plan::{Step, Writer},
    side::{Side, small},
};
use crate::engine::program::{Matrix, Op, Region, Slope, Then};

/// An offset that stands for nothing, as in `shared/program.wgsl`.
const NONE: u32 = u32::MAX;

impl Writer<'_> {
    pub(super) fn forward(&mut self, op: &Op) -> Option<Step> {
        let rows = self.program.positions;
        let step = match *op {
            Op::Embed { .. } | Op::LayerNorm { .. } => return self.row_by_row(op),
            Op::Affine {
                x,
                matrix,
                bias,
                out,
                then,
            } => {
                let bias = bias.map_or(NONE, |bias| self.packed.at(bias));
                let (then, other) = match then {
                    Then::Keep => (0, 0),
                    Then::Add(other) => (1, self.at(other)),
                    Then::Gelu(other) => (2, self.at(other)),
                    Then::Tanh => (3, 0),
                };
                let sides = self.arena.sides(matrix);
                self.affine(
                    sides,
                    [
                        self.at(x),
                        self.packed.at(matrix.offset),
                        bias,
                        self.at(out),
                        then,
                        other,
                    ],
                )
            }
            Op::Attention {
                qkv,
                heads,
                size,
                out,
                kept,
            } => self.attention(Kernel::Attention, (heads, size), [qkv, out, kept, out, qkv]),
            Op::Loss {
                logits,
                classes,
                losses,
            } => {
                let quads = small(Side::plain(classes).quads());
                let sizes = [small(rows), quads, small(classes), self.at(logits), self.at(losses)];
                self.line(Kernel::Loss, rows, &sizes)
            }
            _ => return None,
        };
        Some(step)
    }

    fn row_by_row(&mut self, op: &Op) -> Option<Step> {
        let rows = self.program.positions;
        let step = match *op {
            Op::Embed {
                words,
                places,
                width,
                out,
            } => {
                let quads = Side::plain(width).quads();
                let sizes = [
                    small(rows * quads),
                    small(quads),
                    small(self.program.columns),
                    self.packed.at(words),
                    places.map_or(NONE, |places| self.packed.at(places)),
                    self.at(out),
                ];
                self.line(Kernel::Embed, rows * quads, &sizes)
            }
            Op::LayerNorm {
                x,
                gain,
                bias,
                width,
                out,
                moments,
            } => {
                let sizes = [
                    small(rows),
                    small(Side::plain(width).quads()),
                    small(width),
                    self.at(x),
                    self.packed.at(gain),
                    self.packed.at(bias),
                    self.at(out),
                    self.at(moments),
                ];
                self.line(Kernel::LayerNorm, rows, &sizes)
            }
            _ => return None,
        };
        Some(step)
    }

    /// The gradient of the logits is there already, from the forward.
    pub(super) fn backward(&mut self, op: &Op) -> Vec<Step> {
        let rows = self.program.positions;
        match *op {
            Op::AffineInput {
                d_y,
                matrix,
                out,
                slope,
            } => {
                let (then, other) = match slope {
                    Slope::One => (0, 0),
                    Slope::Gelu(other) => (4, self.at(other)),
                    Slope::Tanh(other) => (5, self.at(other)),
                };
                vec![self.turned(matrix, [d_y, out], [then, other])]
            }
            Op::LayerNormInput {
                d_y,
                x,
                moments,
                gain,
                width,
                add,
                out,
            } => {
                let sizes = [
                    small(rows),
                    small(Side::plain(width).quads()),
                    small(width),
                    self.at(d_y),
                    self.at(x),
                    self.at(moments),
                    self.packed.at(gain),
                    add.map_or(NONE, |add| self.at(add)),
                    self.at(out),
                ];
                vec![self.line(Kernel::LayerNormInput, rows, &sizes)]
            }
            Op::AttentionBackward {
                qkv,
                mixed,
                kept,
                d_mixed,
                heads,
                size,
                d_qkv,
                ..
            } => [Kernel::AttentionBackwardQuery, Kernel::AttentionBackwardKey]
                .map(|kernel| self.attention(kernel, (heads, size), [qkv, mixed, kept, d_mixed, d_qkv]))
                .to_vec(),
            _ => Vec::new(),
        }
    }

    fn turned(&mut self, matrix: Matrix, [d_y, out]: [Region; 2], [then, other]: [u32; 2]) -> Step {
        let (inputs, outputs) = self.arena.sides(matrix);
        let matrix = self.packed.turned(matrix);
        let at = [self.at(d_y), matrix, NONE, self.at(out), then, other];
        self.affine((outputs, inputs), at)
    }

    fn affine(&mut self, (inputs, outputs): (Side, Side), at: [u32; 6]) -> Step {
        let rows = self.program.positions;
        let mut sizes = vec![small(rows), small(inputs.quads()), small(outputs.quads())];
        sizes.extend(at);
        // Eight by four threads, eight rows and two quads each.
        let groups = (outputs.quads().div_ceil(2 * 8), rows.div_ceil(8 * 4));
        self.step(Kernel::Affine, groups, &sizes)
    }

    fn attention(&mut self, kernel: fn(usize) -> Kernel, (heads, size): (usize, usize), at: [Region; 5]) -> Step {
        let queries = self.program.positions * heads;
        let side = Side::grouped(heads, size);
        let mut sizes = vec![
            small(queries),
            small(self.program.columns),
            small(heads),
            small(side.quads()),
        ];
        sizes.extend(at.map(|region| self.at(region)));
        sizes.push((1.0 / (size as f32).sqrt()).to_bits());
        self.line(kernel(side.filled / 4), queries, &sizes)
    }
}
