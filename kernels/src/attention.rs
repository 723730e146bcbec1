//! Causal softmax attention, head by head.

use wide::f32x4;

use crate::{
    four::{LANES, load, store},
    gemm::{Scratch, Sizes, Terms, View, product, write},
    math::exp,
};

/// Sizes of an attention layer over some rows of positions.
#[derive(Clone, Copy)]
pub struct Heads {
    /// Positions of a row.
    pub columns: usize,
    /// Heads.
    pub heads: usize,
    /// Width of a head.
    pub size: usize,
}

impl Heads {
    fn width(self) -> usize {
        self.heads * self.size
    }

    fn scale(self) -> f32 {
        1.0 / (self.size as f32).sqrt()
    }

    /// columns x columns x size, in an order.
    fn sizes(self, inner: usize, columns: usize) -> Sizes {
        Sizes {
            rows: self.columns,
            inner,
            columns,
        }
    }

    /// Queries (0), keys (1) or values (2) of one row and head: columns x size.
    fn part(self, qkv: &[f32], row: usize, head: usize, which: usize) -> View<'_> {
        let stride = 3 * self.width();
        View {
            data: &qkv[row * self.columns * stride + which * self.width() + head * self.size..],
            row: stride,
            column: 1,
        }
    }
}

/// `out = softmax(q k^T / sqrt(size)) v` over the positions up to the query's own. qkv is positions x 3 width, each third head by head; `kept`
/// gets the probabilities of each row and head, columns x columns.
pub fn forward(qkv: &[f32], heads: Heads, out: &mut [f32], kept: &mut [f32], scratch: &mut Scratch) {
    let (columns, size, width) = (heads.columns, heads.size, heads.width());
    let squares = kept.chunks_exact_mut(columns * columns);
    for (index, square) in squares.enumerate() {
        let (row, head) = (index / heads.heads, index % heads.heads);
        let [q, k, v] = std::array::from_fn(|which| heads.part(qkv, row, head, which));
        scores(heads, q, k, heads.scale(), square, scratch);
        for (query, line) in square.chunks_exact_mut(columns).enumerate() {
            softmax(line, query + 1);
        }
        let out = &mut out[row * columns * width + head * size..];
        let left = plain(square, columns);
        product(
            heads.sizes(columns, size),
            left,
            v,
            Terms::UpToRow,
            scratch,
            |row, column, tile| {
                write((row, column), tile, (columns, size, width), out, |_, sum| sum);
            },
        );
    }
}

/// Where the backward of attention reads and writes.
pub struct Backward<'a> {
    /// What the forward read.
    pub qkv: &'a [f32],
    /// What it kept.
    pub kept: &'a [f32],
    /// The gradient of what it wrote.
    pub d_out: &'a [f32],
    /// The gradient of queries, keys and values.
    pub d_qkv: &'a mut [f32],
    /// At least columns x columns numbers.
    pub space: &'a mut [f32],
}

/// The gradient of queries, keys and values.
pub fn backward(task: Backward, heads: Heads, scratch: &mut Scratch) {
    let (columns, size, width) = (heads.columns, heads.size, heads.width());
    let Backward {
        qkv,
        kept,
        d_out,
        d_qkv,
        space,
    } = task;
    let d_scores = &mut space[..columns * columns];
    for (index, probabilities) in kept.chunks_exact(columns * columns).enumerate() {
        let (row, head) = (index / heads.heads, index % heads.heads);
        let [q, k, v] = std::array::from_fn(|which| heads.part(qkv, row, head, which));
        let d_out = View {
            data: &d_out[row * columns * width + head * size..],
            row: width,
            column: 1,
        };
        scores(heads, d_out, v, 1.0, d_scores, scratch);
        let lines = d_scores
            .chunks_exact_mut(columns)
            .zip(probabilities.chunks_exact(columns));
        for (query, (line, probabilities)) in lines.enumerate() {
            softmax_backward(line, probabilities, query + 1, heads.scale());
        }
        let mut put = |which: usize, left: View, right: View, terms: Terms, scratch: &mut Scratch| {
            let from = row * columns * 3 * width + which * width + head * size;
            let out = &mut d_qkv[from..];
            product(
                heads.sizes(columns, size),
                left,
                right,
                terms,
                scratch,
                |row, column, tile| {
                    write((row, column), tile, (columns, size, 3 * width), out, |_, sum| sum);
                },
            );
        };
        put(0, plain(d_scores, columns), k, Terms::UpToRow, scratch);
        put(1, turned(d_scores, columns), q, Terms::FromRow, scratch);
        put(2, turned(probabilities, columns), d_out, Terms::FromRow, scratch);
    }
}

/// `scale x left @ right^T` for columns up to the row; what lies after may be anything.
fn scores(heads: Heads, left: View, right: View, scale: f32, out: &mut [f32], scratch: &mut Scratch) {
    let columns = heads.columns;
    let turned = View {
        row: right.column,
        column: right.row,
        ..right
    };
    product(
        heads.sizes(heads.size, columns),
        left,
        turned,
        Terms::ColumnsUpToRow,
        scratch,
        |row, column, tile| {
            write((row, column), tile, (columns, columns, columns), out, |_, sum| {
                sum * scale
            });
        },
    );
}

/// Softmax of the first `length` entries; 0 after.
fn softmax(line: &mut [f32], length: usize) {
    let (line, after) = line.split_at_mut(length);
    after.fill(0.0);
    let largest = line.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut total = 0.0;
    for four in line.chunks_mut(LANES) {
        let value = exp(load(four, 0) - f32x4::splat(largest));
        store(four, 0, value);
        total += four.iter().sum::<f32>();
    }
    let share = 1.0 / total;
    for four in line.chunks_mut(LANES) {
        let value = load(four, 0) * share;
        store(four, 0, value);
    }
}

/// Turns the gradient of the first `length` probabilities into that of their scores; 0 after.
fn softmax_backward(line: &mut [f32], probabilities: &[f32], length: usize, scale: f32) {
    let (line, after) = line.split_at_mut(length);
    after.fill(0.0);
    let mut mean = f32x4::ZERO;
    for (d, p) in line.chunks(LANES).zip(probabilities[..length].chunks(LANES)) {
        mean += load(d, 0) * load(p, 0);
    }
    let mean = f32x4::splat(mean.reduce_add());
    for (d, p) in line.chunks_mut(LANES).zip(probabilities[..length].chunks(LANES)) {
        let value = (load(d, 0) - mean) * load(p, 0) * scale;
        store(d, 0, value);
    }
}

fn plain(square: &[f32], columns: usize) -> View<'_> {
    View {
        data: square,
        row: columns,
        column: 1,
    }
}

fn turned(square: &[f32], columns: usize) -> View<'_> {
    View {
        data: square,
        row: 1,
        column: columns,
    }
}
