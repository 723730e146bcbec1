//! Gradients of parameters as `weights.wgsl` reads them: one job each.

use super::{
    arena::Arena,
    pack::strides,
    side::{Side, small},
};
use crate::engine::program::{Region, WeightGradient};

/// One sum over positions, and how many threads it takes.
pub(super) type Job = [u32; 20];

/// Rows of a table of words that one thread looks after.
const WORDS_OF_ONE: usize = 16;

const MATRIX: u32 = 0;
const SUM: u32 = 1;
const NORM: u32 = 2;
const WORDS: u32 = 3;
const PLACES: u32 = 4;

/// What is summed: a region, and quads of its rows.
#[derive(Clone, Copy)]
struct Of(usize, usize);

/// Where the sums go: rows and columns, each with the distance between neighbours.
#[derive(Clone, Copy)]
struct To {
    first: usize,
    rows: (Side, usize),
    columns: (Side, usize),
}

/// The jobs of `gradient`.
pub(super) fn jobs(gradient: &WeightGradient, arena: &Arena) -> Vec<Job> {
    let of = |region: Region, side: Side| Of(arena.at(region), side.quads());
    match *gradient {
        WeightGradient::Affine { x, d_y, matrix, bias } => {
            let (inputs, outputs) = arena.sides(matrix);
            let (along_inputs, along_outputs) = strides(matrix);
            let to = To {
                first: matrix.offset,
                rows: (inputs, along_inputs),
                columns: (outputs, along_outputs),
            };
            let threads = inputs.quads().div_ceil(2) * outputs.quads().div_ceil(2);
            let mut jobs = vec![job(MATRIX, threads, of(x, inputs), of(d_y, outputs), 0, to)];
            if let Some(first) = bias {
                let to = To {
                    first,
                    rows: (Side::rows(1), 0),
                    columns: (outputs, 1),
                };
                jobs.push(job(SUM, outputs.quads(), Of(0, 0), of(d_y, outputs), 0, to));
            }
            jobs
        }
        WeightGradient::LayerNorm {
            d_y,
            x,
            moments,
            gain,
            bias,
            width,
        } => {
            let side = Side::plain(width);
            let to = To {
                first: gain,
                rows: (Side::rows(2), bias.wrapping_sub(gain)),
                columns: (side, 1),
            };
            vec![job(
                NORM,
                side.quads(),
                of(x, side),
                of(d_y, side),
                arena.at(moments),
                to,
            )]
        }
        WeightGradient::Words {
            d_x,
            words: first,
            count,
            width,
        } => {
            let side = Side::plain(width);
            let threads = count.div_ceil(WORDS_OF_ONE) * side.quads();
            vec![job(
                WORDS,
                threads,
                Of(0, 0),
                of(d_x, side),
                0,
                table(first, count, side),
            )]
        }
        WeightGradient::Places {
            d_x,
            places: first,
            count,
            width,
        } => {
            let side = Side::plain(width);
            let to = table(first, count, side);
            vec![job(PLACES, count * side.quads(), Of(0, 0), of(d_x, side), 0, to)]
        }
    }
}

fn table(first: usize, count: usize, side: Side) -> To {
    To {
        first,
        rows: (Side::rows(count), side.numbers()),
        columns: (side, 1),
    }
}

fn job(kind: u32, threads: usize, x: Of, d_y: Of, moments: usize, to: To) -> Job {
    let (rows, columns) = (to.rows.0, to.columns.0);
    [
        kind,
        // Its first workgroup, which is known only once all are there.
        0,
        small(threads),
        small(x.0),
        small(x.1),
        small(d_y.0),
        small(d_y.1),
        small(moments),
        small(to.first),
        small(to.rows.1),
        small(to.columns.1),
        small(rows.size),
        small(rows.filled),
        small(columns.size),
        small(columns.filled),
        small(rows.numbers()),
        small(columns.numbers()),
        0,
        0,
        0,
    ]
}
