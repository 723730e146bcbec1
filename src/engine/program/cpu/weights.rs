//! Gradients of parameters: sums over positions, which go to one vector, or to two that differ in what each row counts.

use std::ops::Range;

use microbatch_kernels::{
    embedding, layer_norm,
    linear::{self, Share, Target},
};

use super::{Memory, Reads};
use crate::engine::program::{Matrix, Region, WeightGradient};

/// Where gradients of parameters go.
pub(super) enum Gradients<'a> {
    /// All rows alike.
    One(Gradient<'a>),
    /// All rows alike, and beside it each row times a number of its own.
    ByRow {
        /// All rows alike.
        plain: Gradient<'a>,
        /// The same, times the row's number.
        weighed: &'a mut [f32],
        /// One number a row.
        by_row: &'a [f32],
    },
}

/// A flat gradient and how it is added to.
pub(super) struct Gradient<'a> {
    pub(super) share: Share,
    pub(super) flat: &'a mut [f32],
}

impl Memory {
    pub(super) fn weight_gradient(&mut self, of: &WeightGradient, reads: &Reads, gradients: &mut Gradients) {
        match gradients {
            Gradients::One(Gradient { share, flat }) => {
                let mut all = [Gradient { share: *share, flat }];
                self.sums_over(0..reads.program.positions, of, reads, &mut all);
            }
            Gradients::ByRow { plain, weighed, by_row } => {
                let columns = reads.program.columns;
                for (row, &by) in by_row.iter().enumerate() {
                    // What an earlier row wrote stays in any case.
                    let adds = plain.share.adds || row > 0;
                    let factor = plain.share.factor;
                    let mut both = [
                        Gradient {
                            share: Share { factor, adds },
                            flat: &mut *plain.flat,
                        },
                        Gradient {
                            share: Share {
                                factor: factor * by,
                                adds,
                            },
                            flat: weighed,
                        },
                    ];
                    self.sums_over(row * columns..(row + 1) * columns, of, reads, &mut both);
                }
            }
        }
    }

    /// The gradient of one layer's parameters over some positions.
    fn sums_over(&mut self, positions: Range<usize>, of: &WeightGradient, reads: &Reads, gradients: &mut [Gradient]) {
        let mut scratch = std::mem::take(&mut self.scratch);
        let rows = |region: Region| {
            let all = self.at(region);
            let width = all.len() / reads.program.positions.max(1);
            &all[positions.start * width..positions.end * width]
        };
        match *of {
            WeightGradient::Affine { x, d_y, matrix, bias } => {
                let Matrix {
                    offset,
                    inputs,
                    outputs,
                    by_output,
                } = matrix;
                let targets = gradients.iter_mut().map(|Gradient { share, flat }| {
                    // A bias lies right after its weight.
                    let (weight, rest) = flat[offset..].split_at_mut(inputs * outputs);
                    Target {
                        share: *share,
                        weight,
                        bias: bias.map(|_| &mut rest[..outputs]),
                    }
                });
                let mut targets: Vec<Target> = targets.collect();
                let shape = (inputs, outputs, by_output);
                linear::backward_weight(rows(x), rows(d_y), shape, &mut targets, &mut scratch);
            }
            WeightGradient::LayerNorm {
                d_y,
                x,
                moments,
                gain,
                width,
                ..
            } => {
                let [d_y, x, moments] = [d_y, x, moments].map(rows);
                for Gradient { share, flat } in gradients {
                    // A bias lies right after its gain.
                    let (d_gain, rest) = flat[gain..].split_at_mut(width);
                    layer_norm::backward_weight(d_y, x, moments, *share, d_gain, &mut rest[..width], &mut scratch);
                }
            }
            WeightGradient::Words {
                d_x,
                words,
                count,
                width,
            } => {
                let tokens = &self.tokens[positions.clone()];
                for Gradient { share, flat } in gradients {
                    let d_words = &mut flat[words..words + count * width];
                    embedding::backward_words(tokens, rows(d_x), width, *share, d_words, &mut scratch);
                }
            }
            WeightGradient::Places {
                d_x,
                places,
                count,
                width,
            } => {
                let columns = reads.program.columns;
                for Gradient { share, flat } in gradients {
                    let d_places = &mut flat[places..places + count * width];
                    embedding::backward_places(rows(d_x), columns, width, *share, d_places, &mut scratch);
                }
            }
        }
        self.scratch = scratch;
    }
}
