//! Matrix products over strided views. Both factors are packed first, then tiles of 4 x 8 are summed up in registers: 8 vectors of sums, 2 of
//! the right factor and 1 of the left, which fits the 16 registers that a browser compiles SIMD128 to.

use wide::f32x4;

use crate::four::{LANES, load, store};

/// Rows of a tile.
pub(crate) const ROWS: usize = 4;
/// Vectors in a row of a tile.
pub(crate) const VECTORS: usize = 2;
/// Columns of a tile.
pub(crate) const COLUMNS: usize = VECTORS * LANES;

/// One tile of a product.
pub(crate) type Tile = [[f32x4; VECTORS]; ROWS];

/// A matrix inside a slice: entry (i, j) lies at `i * row + j * column`.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) data: &'a [f32],
    pub(crate) row: usize,
    pub(crate) column: usize,
}

/// Which terms of a product there are, where one factor is a triangle of causal attention.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Terms {
    /// All.
    All,
    /// Columns after the row are not asked for.
    ColumnsUpToRow,
    /// The left factor is 0 after the diagonal.
    UpToRow,
    /// The left factor is 0 before the diagonal.
    FromRow,
}

/// Packed copies of factors, kept from one product to the next.
#[derive(Default)]
pub struct Scratch {
    left: Vec<[f32; ROWS]>,
    right: Vec<[f32x4; VECTORS]>,
    /// Sums over rows, as long as a row.
    pub(crate) sums: Vec<f32>,
}

/// Sizes of a product: rows x inner times inner x columns.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) rows: usize,
    pub(crate) inner: usize,
    pub(crate) columns: usize,
}

/// Hands every tile of `left @ right` to `put`, with its first row and column. What lies beyond the product's edge in a tile is 0.
pub(crate) fn product(
    sizes: Sizes,
    left: View,
    right: View,
    terms: Terms,
    scratch: &mut Scratch,
    mut put: impl FnMut(usize, usize, &Tile),
) {
    let Sizes { rows, inner, columns } = sizes;
    if inner == 0 {
        return;
    }
    pack_left(sizes, left, &mut scratch.left);
    pack_right(sizes, right, &mut scratch.right);
    let panels = scratch.right.chunks_exact(inner).zip((0..columns).step_by(COLUMNS));
    for (right, column) in panels {
        let blocks = scratch.left.chunks_exact(inner).zip((0..rows).step_by(ROWS));
        for (left, row) in blocks {
            let below = (row + ROWS).min(inner);
            let (from, to) = match terms {
                Terms::ColumnsUpToRow if column >= row + ROWS => continue,
                Terms::All | Terms::ColumnsUpToRow => (0, inner),
                Terms::UpToRow => (0, below),
                Terms::FromRow => (row.min(inner), inner),
            };
            put(row, column, &tile(&left[from..to], &right[from..to]));
        }
    }
}

#[inline]
fn tile(left: &[[f32; ROWS]], right: &[[f32x4; VECTORS]]) -> Tile {
    let mut sums = [[f32x4::ZERO; VECTORS]; ROWS];
    for (left, right) in left.iter().zip(right) {
        for (sums, &factor) in sums.iter_mut().zip(left) {
            let factor = f32x4::splat(factor);
            for (sum, &right) in sums.iter_mut().zip(right) {
                *sum += factor * right;
            }
        }
    }
    sums
}

/// Empties `to` and makes room for `count`, and for no more: a growing vector would double, and stand beside its copy meanwhile.
fn empty<T>(to: &mut Vec<T>, count: usize) {
    to.clear();
    if to.capacity() < count {
        *to = Vec::new();
        *to = Vec::with_capacity(count);
    }
}

/// Blocks of 4 rows, each by inner index; rows beyond the last are 0.
fn pack_left(sizes: Sizes, from: View, to: &mut Vec<[f32; ROWS]>) {
    let Sizes { rows, inner, .. } = sizes;
    empty(to, rows.div_ceil(ROWS) * inner);
    for row in (0..rows).step_by(ROWS) {
        let whole = row + ROWS <= rows;
        if whole && from.row == 1 {
            // Transposed: the 4 rows of each inner index lie side by side.
            let four = |k: usize| {
                let at = row + k * from.column;
                match from.data.get(at..at + ROWS) {
                    Some(&[a, b, c, d]) => [a, b, c, d],
                    _ => [0.0; ROWS],
                }
            };
            to.extend((0..inner).map(four));
        } else if whole && from.column == 1 {
            let line = |r: usize| &from.data[(row + r) * from.row..][..inner];
            let lines = line(0).iter().zip(line(1)).zip(line(2)).zip(line(3));
            to.extend(lines.map(|(((&a, &b), &c), &d)| [a, b, c, d]));
        } else {
            let entry = |r: usize, k: usize| {
                let inside = row + r < rows;
                if inside {
                    from.data[(row + r) * from.row + k * from.column]
                } else {
                    0.0
                }
            };
            to.extend((0..inner).map(|k| std::array::from_fn(|r| entry(r, k))));
        }
    }
}

/// Panels of 8 columns, each by inner index; columns beyond the last are 0.
fn pack_right(sizes: Sizes, from: View, to: &mut Vec<[f32x4; VECTORS]>) {
    let Sizes { inner, columns, .. } = sizes;
    empty(to, columns.div_ceil(COLUMNS) * inner);
    for column in (0..columns).step_by(COLUMNS) {
        let whole = column + COLUMNS <= columns;
        if whole && from.column == 1 {
            let line = |k: usize| {
                let line = &from.data[k * from.row + column..][..COLUMNS];
                std::array::from_fn(|v| load(line, v * LANES))
            };
            to.extend((0..inner).map(line));
        } else if whole && from.row == 1 {
            // Transposed: each of the 8 columns lies in one piece.
            let line = |c: usize| &from.data[(column + c) * from.column..][..inner];
            let lines: [&[f32]; COLUMNS] = std::array::from_fn(line);
            let entry =
                |k: usize| std::array::from_fn(|v| f32x4::new(std::array::from_fn(|i| lines[v * LANES + i][k])));
            to.extend((0..inner).map(entry));
        } else {
            let entry = |k: usize, c: usize| {
                let inside = column + c < columns;
                if inside {
                    from.data[k * from.row + (column + c) * from.column]
                } else {
                    0.0
                }
            };
            let line = |k: usize| std::array::from_fn(|v| f32x4::new(std::array::from_fn(|i| entry(k, v * LANES + i))));
            to.extend((0..inner).map(line));
        }
    }
}

/// Calls `change` for every vector of a tile that lies inside `rows` x `columns`, with its place in a row-major matrix of rows `stride`
/// apart, and writes what it gives there. A vector that reaches over the edge is cut.
#[inline]
pub(crate) fn write(
    (row, column): (usize, usize),
    tile: &Tile,
    (rows, columns, stride): (usize, usize, usize),
    out: &mut [f32],
    mut change: impl FnMut(Place, f32x4) -> f32x4,
) {
    for (row, sums) in (row..rows).zip(tile) {
        for (column, &sum) in (column..columns).step_by(LANES).zip(sums) {
            let at = row * stride + column;
            let room = (columns - column).min(LANES);
            let value = change(Place { at, column, room }, sum);
            store(&mut out[..at + room], at, value);
        }
    }
}

/// Where a vector of a tile lies.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) at: usize,
    pub(crate) column: usize,
    pub(crate) room: usize,
}

impl Place {
    /// The same place of another matrix of the same shape; 0 beyond the row's end.
    #[inline]
    pub(crate) fn of(self, matrix: &[f32]) -> f32x4 {
        load(&matrix[..self.at + self.room], self.at)
    }
}
