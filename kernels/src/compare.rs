//! Many sums of the same vectors against one of them, in one walk over memory.

use wide::f32x4;

use crate::four::{LANES, load};

/// Numbers of each vector that are looked at together; what is summed of them in f32 goes on in f64.
const CHUNK: usize = 32;
const FOURS: usize = CHUNK / LANES;

/// Sums over a whole vector.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Against {
    /// Of its squares.
    pub square: f64,
    /// Of its products with the reference.
    pub along: f64,
    /// Of the squares of its differences from the reference.
    pub apart: f64,
}

impl Against {
    /// Adds what one chunk and its counterpart come to.
    #[inline]
    fn add(&mut self, ours: Chunk, reference: Chunk) {
        let [mut square, mut along, mut apart] = [f32x4::ZERO; 3];
        for (ours, reference) in ours.into_iter().zip(reference) {
            let difference = ours - reference;
            square += ours * ours;
            along += ours * reference;
            apart += difference * difference;
        }
        self.square += f64::from(square.reduce_add());
        self.along += f64::from(along.reduce_add());
        self.apart += f64::from(apart.reduce_add());
    }
}

/// `sum_k coefficient_k * vector_k` for each row of coefficients, against that of row `reference`. `vectors` stand one after another, each
/// `length` long.
pub fn compare(vectors: &[f32], length: usize, rows: &[Vec<f32>], reference: usize) -> Vec<Against> {
    let mut all = vec![Against::default(); rows.len()];
    for from in (0..length).step_by(CHUNK) {
        let chunk = |vector: usize| part(vectors, length, vector, from);
        let against = rows
            .get(reference)
            .map_or([f32x4::ZERO; FOURS], |row| mixed(row, chunk));
        for (sums, row) in all.iter_mut().zip(rows) {
            sums.add(mixed(row, chunk), against);
        }
    }
    all
}

/// The sum of all vectors, part by part and then over parts, as reference; against it the same sum in reverse. `parts` name their vectors in
/// order.
pub fn both_ways(vectors: &[f32], length: usize, parts: &[Vec<usize>]) -> [Against; 2] {
    let mut all = [Against::default(); 2];
    for from in (0..length).step_by(CHUNK) {
        let chunk = |vector: usize| part(vectors, length, vector, from);
        let of_part = |order: &mut dyn Iterator<Item = usize>| order.map(chunk).reduce(added);
        let forth = parts.iter().filter_map(|part| of_part(&mut part.iter().copied()));
        let back = parts.iter().rev();
        let back = back.filter_map(|part| of_part(&mut part.iter().rev().copied()));
        if let (Some(forth), Some(back)) = (forth.reduce(added), back.reduce(added)) {
            all[0].add(forth, forth);
            all[1].add(back, forth);
        }
    }
    all
}

type Chunk = [f32x4; FOURS];

#[inline]
fn part(vectors: &[f32], length: usize, vector: usize, from: usize) -> Chunk {
    let end = (from + CHUNK).min(length);
    let values = &vectors[vector * length + from..vector * length + end];
    std::array::from_fn(|at| load(values, at * LANES))
}

#[inline]
fn added(a: Chunk, b: Chunk) -> Chunk {
    std::array::from_fn(|at| a[at] + b[at])
}

#[inline]
fn mixed(row: &[f32], chunk: impl Fn(usize) -> Chunk) -> Chunk {
    let mut sum = [f32x4::ZERO; FOURS];
    for (vector, &coefficient) in row.iter().enumerate() {
        let values = chunk(vector);
        let coefficient = f32x4::splat(coefficient);
        for (sum, value) in sum.iter_mut().zip(values) {
            *sum += coefficient * value;
        }
    }
    sum
}
