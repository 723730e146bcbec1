//! Linear layers, forward and backward, with what is done to their results on the way out.

use wide::f32x4;

use crate::{
    four::{LANES, load, store},
    gemm::{Scratch, Sizes, Terms, View, product, write},
    math::{gelu, tanh},
};

/// A Linear layer's weight and how it lies.
#[derive(Clone, Copy)]
pub struct Weight<'a> {
    /// inputs x outputs numbers.
    pub data: &'a [f32],
    /// Inputs.
    pub inputs: usize,
    /// Outputs.
    pub outputs: usize,
    /// Whether it lies [out][in], else [in][out].
    pub by_output: bool,
}

impl<'a> Weight<'a> {
    /// inputs x outputs, however it lies.
    fn view(self) -> View<'a> {
        let (row, column) = if self.by_output {
            (1, self.inputs)
        } else {
            (self.outputs, 1)
        };
        View {
            data: self.data,
            row,
            column,
        }
    }
}

/// What follows a Linear layer's sum.
pub enum Then<'a> {
    /// Nothing.
    Keep,
    /// A residual stream is added.
    Add(&'a [f32]),
    /// The exact GELU of the sum goes here; what is written is its slope, for [`Slope::Times`].
    Gelu(&'a mut [f32]),
    /// tanh.
    Tanh,
}

/// What the gradient of a layer's input is multiplied by.
#[derive(Clone, Copy)]
pub enum Slope<'a> {
    /// Nothing.
    One,
    /// These.
    Times(&'a [f32]),
    /// The slope of tanh where it gave these.
    Tanh(&'a [f32]),
}

/// `out = then(x @ weight + bias)`; x is rows x inputs, out rows x outputs.
pub fn forward(x: &[f32], weight: Weight, bias: Option<&[f32]>, then: Then, out: &mut [f32], scratch: &mut Scratch) {
    let sizes = Sizes {
        rows: x.len() / weight.inputs,
        inner: weight.inputs,
        columns: weight.outputs,
    };
    let edge = (sizes.rows, sizes.columns, sizes.columns);
    let left = View {
        data: x,
        row: weight.inputs,
        column: 1,
    };
    let bias = |column| bias.map_or(f32x4::ZERO, |bias| load(bias, column));
    let (right, all) = (weight.view(), Terms::All);
    match then {
        Then::Keep => product(sizes, left, right, all, scratch, |row, column, tile| {
            write((row, column), tile, edge, out, |place, sum| sum + bias(place.column));
        }),
        Then::Add(residual) => product(sizes, left, right, all, scratch, |row, column, tile| {
            write((row, column), tile, edge, out, |place, sum| {
                sum + bias(place.column) + place.of(residual)
            });
        }),
        Then::Gelu(active) => product(sizes, left, right, all, scratch, |row, column, tile| {
            write((row, column), tile, edge, out, |place, sum| {
                let (value, slope) = gelu(sum + bias(place.column));
                store(&mut active[..place.at + place.room], place.at, value);
                slope
            });
        }),
        Then::Tanh => product(sizes, left, right, all, scratch, |row, column, tile| {
            write((row, column), tile, edge, out, |place, sum| {
                tanh(sum + bias(place.column))
            });
        }),
    }
}

/// The gradient of the input: `out = (d_y @ weight^T) x slope`; d_y is rows x outputs, out rows x inputs.
pub fn backward_input(d_y: &[f32], weight: Weight, slope: Slope, out: &mut [f32], scratch: &mut Scratch) {
    let sizes = Sizes {
        rows: d_y.len() / weight.outputs,
        inner: weight.outputs,
        columns: weight.inputs,
    };
    let edge = (sizes.rows, sizes.columns, sizes.columns);
    let left = View {
        data: d_y,
        row: weight.outputs,
        column: 1,
    };
    let view = weight.view();
    let right = View {
        row: view.column,
        column: view.row,
        ..view
    };
    product(sizes, left, right, Terms::All, scratch, |row, column, tile| {
        write((row, column), tile, edge, out, |place, sum| match slope {
            Slope::One => sum,
            Slope::Times(slopes) => sum * place.of(slopes),
            Slope::Tanh(from) => {
                let from = place.of(from);
                sum * (f32x4::ONE - from * from)
            }
        });
    });
}

/// Where a gradient goes: `into + factor x gradient`, or, unless it `adds`, `factor x gradient` in place of what was there.
#[derive(Clone, Copy)]
pub struct Share {
    /// What multiplies the gradient.
    pub factor: f32,
    /// Whether what is there stays.
    pub adds: bool,
}

impl Share {
    /// The new value of a place that holds `old`.
    #[inline]
    pub(crate) fn of(self, old: f32x4, gradient: f32x4) -> f32x4 {
        let share = gradient * self.factor;
        if self.adds { old + share } else { share }
    }

    /// Adds `gradient` to `into`.
    pub(crate) fn put(self, gradient: &[f32], into: &mut [f32]) {
        let length = into.len().min(gradient.len());
        for at in (0..length).step_by(LANES) {
            let value = self.of(load(into, at), load(gradient, at));
            store(into, at, value);
        }
    }
}

/// Positions summed up at a time: a panel of them stays in the nearest cache.
const PIECE: usize = 256;

/// Where a Linear layer's gradients go.
pub struct Target<'a> {
    /// How they are put there.
    pub share: Share,
    /// The weight's, as the weight lies.
    pub weight: &'a mut [f32],
    /// The bias's.
    pub bias: Option<&'a mut [f32]>,
}

/// The gradient of the weight, `x^T @ d_y` as it lies, and of the bias, the sum of `d_y` over rows. Computed once, whatever the number of
/// `targets`; `shape` is inputs, outputs and whether the weight lies [out][in].
pub fn backward_weight(
    x: &[f32],
    d_y: &[f32],
    shape: (usize, usize, bool),
    targets: &mut [Target],
    scratch: &mut Scratch,
) {
    let (inputs, outputs, by_output) = shape;
    let pieces = x.chunks(PIECE * inputs).zip(d_y.chunks(PIECE * outputs));
    for (piece, (x, d_y)) in pieces.enumerate() {
        // Rows of the product are those of the weight as it lies.
        let ((left, rows), (right, columns)) = if by_output {
            ((d_y, outputs), (x, inputs))
        } else {
            ((x, inputs), (d_y, outputs))
        };
        let sizes = Sizes {
            rows,
            inner: x.len() / inputs,
            columns,
        };
        let left = View {
            data: left,
            row: 1,
            column: rows,
        };
        let right = View {
            data: right,
            row: columns,
            column: 1,
        };
        product(sizes, left, right, Terms::All, scratch, |row, column, tile| {
            for target in &mut *targets {
                // What an earlier piece wrote stays in any case.
                let share = Share {
                    adds: target.share.adds || piece > 0,
                    ..target.share
                };
                for (r, sums) in (row..rows).zip(tile) {
                    for (c, &sum) in (column..columns).step_by(LANES).zip(sums) {
                        let line = &mut target.weight[r * columns..][..columns];
                        let value = share.of(load(line, c), sum);
                        store(line, c, value);
                    }
                }
            }
        });
    }
    if targets.iter().any(|target| target.bias.is_some()) {
        sum_rows(d_y, outputs, &mut scratch.sums);
    }
    for target in targets {
        if let Some(bias) = &mut target.bias {
            target.share.put(&scratch.sums, bias);
        }
    }
}

/// The sum over rows of `width` numbers each.
pub(crate) fn sum_rows(rows: &[f32], width: usize, sums: &mut Vec<f32>) {
    sums.clear();
    sums.resize(width, 0.0);
    for row in rows.chunks_exact(width) {
        for at in (0..width).step_by(LANES) {
            let value = load(sums, at) + load(row, at);
            store(sums, at, value);
        }
    }
}
