//! Norms, cosines and distances of many gradients against one.

use burn::tensor::Tensor;

use crate::engine::readback::{Readback, Slot, Values};

/// The device sums so many numbers in f32; the rest is summed in f64 here, so that long vectors lose nothing.
const CHUNK: usize = 64;

/// Sums that were asked of the device, chunk by chunk.
pub(super) struct Comparison {
    /// Squares of the rows.
    squares: Slot,
    /// Products of the rows and the reference.
    along: Slot,
    /// Squares of the differences between the rows and the reference.
    apart: Slot,
    /// Squares of the reference.
    reference: Slot,
    rows: usize,
    chunks: usize,
}

/// One gradient against the reference.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compared {
    square: f64,
    along: f64,
    apart: f64,
    reference: f64,
}

impl Compared {
    /// Sums of squares, of products with the reference, of squared differences from it, and of the reference's squares.
    #[cfg(feature = "cpu")]
    pub(super) fn new(square: f64, along: f64, apart: f64, reference: f64) -> Self {
        Self {
            square,
            along,
            apart,
            reference,
        }
    }

    /// The norm of `scale` times this gradient.
    pub(super) fn norm(self, scale: f64) -> f64 {
        scale.abs() * self.square.sqrt()
    }

    /// The norm of the reference.
    pub(super) fn reference_norm(self) -> f64 {
        self.reference.sqrt()
    }

    /// Its cosine with the reference; NaN where either is zero.
    pub(super) fn cosine(self, scale: f64) -> f64 {
        scale * self.along / (self.norm(scale) * self.reference_norm())
    }

    /// How far `scale` times this gradient is from the reference, as a part of the reference; the plain distance where that is zero.
    ///
    /// With e = gradient - reference it is `|s e + (s - 1) reference|`. No large numbers are taken from each other in it, neither where the
    /// two are nearly the same nor where they only point the same way.
    pub(super) fn relative_l2(self, scale: f64) -> f64 {
        let across = self.along - self.reference;
        let more = scale - 1.0;
        let square = scale * scale * self.apart + 2.0 * scale * more * across + more * more * self.reference;
        // Rounding may leave it a little below 0; what is no number stays none.
        let distance = if square < 0.0 { 0.0 } else { square.sqrt() };
        if self.reference > 0.0 {
            distance / self.reference_norm()
        } else {
            distance
        }
    }
}

impl Comparison {
    /// `rows` is any number of gradients, `reference` is 1 x parameters.
    pub(super) fn ask(readback: &mut Readback, rows: Tensor<2>, reference: Tensor<2>) -> Self {
        let [count, parameters] = rows.dims();
        Self {
            squares: readback.add(&chunked(rows.clone().square())),
            along: readback.add(&chunked(rows.clone() * reference.clone())),
            apart: readback.add(&chunked((rows - reference.clone()).square())),
            reference: readback.add(&chunked(reference.square())),
            rows: count,
            chunks: parameters.div_ceil(CHUNK),
        }
    }

    /// Each row's comparison.
    pub(super) fn answer(&self, values: &Values) -> Vec<Compared> {
        let sums = |slot: Slot| -> Vec<f64> {
            let chunks = values.of(slot).chunks(self.chunks.max(1));
            chunks.map(|row| row.iter().copied().map(f64::from).sum()).collect()
        };
        let [squares, along, apart, reference] = [self.squares, self.along, self.apart, self.reference].map(sums);
        let reference = reference.first().copied().unwrap_or(f64::NAN);
        (0..self.rows)
            .map(|row| {
                let of = |sums: &[f64]| sums.get(row).copied().unwrap_or(f64::NAN);
                Compared {
                    square: of(&squares),
                    along: of(&along),
                    apart: of(&apart),
                    reference,
                }
            })
            .collect()
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
