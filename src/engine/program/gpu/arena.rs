//! Where each region of a list lies in the working memory, and how its rows lie in quads.

use std::collections::HashMap;

use super::side::Side;
use crate::engine::program::{Matrix, Op, Program, Region, Then};

/// Rows are worked on eight at a time, so that every region has room for whole eights.
const BLOCK: usize = 8;

/// Quads are bound at multiples of this many, for the sake of whole cache lines.
const ALIGNED: usize = 16;

/// The working memory of one list.
pub(super) struct Arena {
    /// The first quad of each region.
    offsets: Vec<usize>,
    /// Inputs and outputs of each matrix, by its offset.
    sides: HashMap<usize, (Side, Side)>,
    /// Quads of all regions.
    pub(super) quads: usize,
}

impl Arena {
    pub(super) fn new(program: &Program) -> Self {
        let sides = sides(program);
        let mut wide = vec![0; program.regions.len()];
        for (region, quads) in program
            .forward
            .iter()
            .chain(&program.backward)
            .flat_map(|op| written(op, &sides))
        {
            wide[region.0] = quads.max(wide[region.0]);
        }
        let rows = program.positions.next_multiple_of(BLOCK);
        let mut quads = 0;
        let offsets = wide.into_iter().map(|wide| {
            let at = quads;
            quads += (rows * wide).next_multiple_of(ALIGNED);
            at
        });
        Self {
            offsets: offsets.collect(),
            sides,
            quads,
        }
    }

    /// The first quad of `region`.
    pub(super) fn at(&self, region: Region) -> usize {
        self.offsets[region.0]
    }

    /// Inputs and outputs of `matrix`.
    pub(super) fn sides(&self, matrix: Matrix) -> (Side, Side) {
        side_of(matrix, &self.sides)
    }
}

fn side_of(matrix: Matrix, sides: &HashMap<usize, (Side, Side)>) -> (Side, Side) {
    let plain = || (Side::plain(matrix.inputs), Side::plain(matrix.outputs));
    sides.get(&matrix.offset).copied().unwrap_or_else(plain)
}

/// Heads are filled up one by one, and with them the matrices before and after attention.
fn sides(program: &Program) -> HashMap<usize, (Side, Side)> {
    let mut heads = HashMap::new();
    for op in &program.forward {
        if let Op::Attention {
            qkv,
            heads: count,
            size,
            out,
            ..
        } = op
        {
            heads.insert(*qkv, Side::grouped(3 * count, *size));
            heads.insert(*out, Side::grouped(*count, *size));
        }
    }
    let of = |region: &Region, numbers| heads.get(region).copied().unwrap_or_else(|| Side::plain(numbers));
    let matrices = program.forward.iter().filter_map(|op| match op {
        Op::Affine { x, matrix, out, .. } => Some((matrix.offset, (of(x, matrix.inputs), of(out, matrix.outputs)))),
        _ => None,
    });
    matrices.collect()
}

/// What `op` writes, and how many quads a position.
fn written(op: &Op, sides: &HashMap<usize, (Side, Side)>) -> Vec<(Region, usize)> {
    let plain = |numbers| Side::plain(numbers).quads();
    match op {
        Op::Embed { width, out, .. } | Op::LayerNormInput { width, out, .. } => vec![(*out, plain(*width))],
        Op::LayerNorm {
            width, out, moments, ..
        } => vec![(*out, plain(*width)), (*moments, 1)],
        Op::Affine { matrix, out, then, .. } => {
            let quads = side_of(*matrix, sides).1.quads();
            match then {
                Then::Gelu(active) => vec![(*out, quads), (*active, quads)],
                Then::Keep | Then::Add(_) | Then::Tanh => vec![(*out, quads)],
            }
        }
        Op::AffineInput { matrix, out, .. } => vec![(*out, side_of(*matrix, sides).0.quads())],
        Op::Attention {
            heads, size, out, kept, ..
        } => {
            vec![(*out, Side::grouped(*heads, *size).quads()), (*kept, *heads)]
        }
        Op::AttentionBackward { heads, size, d_qkv, .. } => vec![(*d_qkv, Side::grouped(3 * heads, *size).quads())],
        Op::Loss { losses, .. } => vec![(*losses, 1)],
        Op::LossBackward { .. } | Op::Weights(_) => Vec::new(),
    }
}
