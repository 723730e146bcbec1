//! The parameters once more, laid out in quads: what `pack.wgsl` does, and where it puts things.

use std::collections::HashMap;

use super::{
    arena::Arena,
    side::{Side, small},
};
use crate::engine::program::{Matrix, Op, Program, WeightGradient};

/// One tensor that is laid out, as `pack.wgsl` reads it.
pub(super) type Job = [u32; 16];

/// Where parameters lie once they are laid out.
pub(super) struct Packed {
    /// What there is to do.
    pub(super) jobs: Vec<Job>,
    /// Quads of all.
    pub(super) quads: usize,
    /// First quads, by offset among the parameters and whether a matrix lies [out][in].
    at: HashMap<(usize, bool), usize>,
}

impl Packed {
    pub(super) fn new(program: &Program, arena: &Arena) -> Self {
        let mut packed = Self {
            jobs: Vec::new(),
            quads: 0,
            at: HashMap::new(),
        };
        for op in &program.forward {
            match *op {
                Op::LayerNorm { gain, bias, width, .. } => {
                    packed.vector(gain, Side::plain(width));
                    packed.vector(bias, Side::plain(width));
                }
                Op::Affine { matrix, bias, .. } => {
                    packed.matrix(matrix, arena.sides(matrix));
                    if let Some(bias) = bias {
                        packed.vector(bias, arena.sides(matrix).1);
                    }
                }
                _ => {}
            }
        }
        let gradients = program.backward.iter().filter_map(|op| match op {
            Op::Weights(gradients) => Some(gradients),
            _ => None,
        });
        for gradient in gradients.flatten() {
            match *gradient {
                WeightGradient::Words {
                    words: first,
                    count,
                    width,
                    ..
                }
                | WeightGradient::Places {
                    places: first,
                    count,
                    width,
                    ..
                } => packed.add((first, false), (Side::rows(count), width), (Side::plain(width), 1)),
                WeightGradient::Affine { .. } | WeightGradient::LayerNorm { .. } => {}
            }
        }
        packed
    }

    /// The first quad of a vector, of a table, or of a matrix that lies [in][out].
    pub(super) fn at(&self, offset: usize) -> u32 {
        self.find(offset, false)
    }

    /// The first quad of a matrix that lies [out][in].
    pub(super) fn turned(&self, matrix: Matrix) -> u32 {
        self.find(matrix.offset, true)
    }

    fn find(&self, offset: usize, turned: bool) -> u32 {
        let at = self.at.get(&(offset, turned));
        debug_assert!(at.is_some(), "a parameter that nothing lays out");
        small(at.copied().unwrap_or_default())
    }

    fn vector(&mut self, offset: usize, side: Side) {
        self.add((offset, false), (Side::rows(1), 0), (side, 1));
    }

    fn matrix(&mut self, matrix: Matrix, (inputs, outputs): (Side, Side)) {
        let (along_inputs, along_outputs) = strides(matrix);
        let (inputs, outputs) = ((inputs, along_inputs), (outputs, along_outputs));
        self.add((matrix.offset, false), inputs, outputs);
        self.add((matrix.offset, true), outputs, inputs);
    }

    /// Sides come with the distance between neighbours among the parameters.
    fn add(&mut self, key: (usize, bool), rows: (Side, usize), columns: (Side, usize)) {
        let ((rows, row_stride), (columns, column_stride)) = (rows, columns);
        let quads = rows.filled() * columns.quads();
        let job = [
            // Its first workgroup, which is known only once all are there.
            0,
            self.quads,
            quads,
            columns.quads(),
            key.0,
            row_stride,
            column_stride,
            rows.size,
            rows.filled,
            columns.size,
            columns.filled,
            rows.numbers(),
            columns.numbers(),
            0,
            0,
            0,
        ];
        self.jobs.push(job.map(small));
        self.at.insert(key, self.quads);
        self.quads += quads;
    }
}

/// From one input to the next among the parameters, and from one output to the next.
pub(super) fn strides(matrix: Matrix) -> (usize, usize) {
    if matrix.by_output {
        (1, matrix.inputs)
    } else {
        (matrix.outputs, 1)
    }
}
