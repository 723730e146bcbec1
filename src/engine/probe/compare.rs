//! Norms, cosines and distances of many gradients against one.

use burn::tensor::Tensor;

use crate::engine::readback::{Readback, Slot, Values};

/// The device sums so many numbers in f32; the rest is summed in f64 here, so that long vectors lose nothing.
const CHUNK: usize = 64;

/// Sums that were asked of the device, chunk by chunk.
pub(super) struct Comparison {
    /// Squares of the rows, then of the reference.
    squares: Slot,
    /// Products of the rows and the reference.
    along: Slot,
    /// Squares of the differences between the rows and the reference.
    apart: Slot,
    rows: usize,
    chunks: usize,
}

/// One gradient against the reference.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compared {
    pub(super) norm: f64,
    /// NaN where either is zero.
    pub(super) cosine: f64,
    /// The plain distance where the reference is zero.
    pub(super) relative_l2: f64,
}

impl Comparison {
    /// `rows` is any number of gradients, `reference` is 1 x parameters.
    pub(super) fn ask(readback: &mut Readback, rows: Tensor<2>, reference: Tensor<2>) -> Self {
        let [count, parameters] = rows.dims();
        let all = Tensor::cat(vec![rows.clone(), reference.clone()], 0);
        Self {
            squares: readback.add(&chunked(all.square())),
            along: readback.add(&chunked(rows.clone() * reference.clone())),
            apart: readback.add(&chunked((rows - reference).square())),
            rows: count,
            chunks: parameters.div_ceil(CHUNK),
        }
    }

    /// Each row's comparison, and the norm of the reference.
    pub(super) fn answer(&self, values: &Values) -> (Vec<Compared>, f64) {
        let sums = |slot: Slot| -> Vec<f64> {
            let chunks = values.of(slot).chunks(self.chunks.max(1));
            chunks.map(|row| row.iter().copied().map(f64::from).sum()).collect()
        };
        let (squares, along, apart) = (sums(self.squares), sums(self.along), sums(self.apart));
        let reference = squares.get(self.rows).map_or(f64::NAN, |square| square.sqrt());
        let rows = squares.iter().zip(&along).zip(&apart).map(|((square, along), apart)| {
            let (norm, distance) = (square.sqrt(), apart.sqrt());
            Compared {
                norm,
                cosine: along / (norm * reference),
                relative_l2: if reference > 0.0 {
                    distance / reference
                } else {
                    distance
                },
            }
        });
        (rows.collect(), reference)
    }
}

/// Sums of each row's chunks, one row after another. A row that does not fill its last chunk goes on with zeros.
fn chunked(rows: Tensor<2>) -> Tensor<1> {
    let [count, parameters] = rows.dims();
    let chunks = parameters.div_ceil(CHUNK);
    let missing = chunks * CHUNK - parameters;
    let filled = if missing == 0 {
        rows
    } else {
        let zeros = Tensor::zeros([count, missing], &rows.device());
        Tensor::cat(vec![rows, zeros], 1)
    };
    filled
        .reshape([count * chunks, CHUNK])
        .sum_dim(1)
        .reshape([count * chunks])
}
