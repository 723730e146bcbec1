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
    let forth = || parts.iter().map(|part| part.iter());
    let back = || parts.iter().rev().map(|part| part.iter().rev());
    for from in (0..length).step_by(CHUNK) {
        let chunk = |vector: usize| part(vectors, length, vector, from);
        if let (Some(forth), Some(back)) = (in_order(forth(), chunk), in_order(back(), chunk)) {
            all[0].add(forth, forth);
            all[1].add(back, forth);
        }
    }
    all
}

/// The sum of each part, and of those.
#[inline]
fn in_order<'a, P: Iterator<Item = &'a usize>>(
    parts: impl Iterator<Item = P>,
    chunk: impl Fn(usize) -> Chunk,
) -> Option<Chunk> {
    let mut total: Option<Chunk> = None;
    for mut part in parts {
        let Some(&first) = part.next() else { continue };
        let mut sum = chunk(first);
        for &vector in part {
            add_to(&mut sum, chunk(vector));
        }
        match &mut total {
            Some(total) => add_to(total, sum),
            None => total = Some(sum),
        }
    }
    total
}

type Chunk = [f32x4; FOURS];

#[inline]
fn part(vectors: &[f32], length: usize, vector: usize, from: usize) -> Chunk {
    let end = (from + CHUNK).min(length);
    let values = &vectors[vector * length + from..vector * length + end];
    match values.first_chunk::<CHUNK>() {
        // Read as bytes, with one look at the bounds and not one for each four.
        Some(whole) => bytemuck::pod_read_unaligned(bytemuck::bytes_of(whole)),
        None => std::array::from_fn(|at| load(values, at * LANES)),
    }
}

#[inline]
fn add_to(sum: &mut Chunk, values: Chunk) {
    for (sum, value) in sum.iter_mut().zip(values) {
        *sum += value;
    }
}

#[inline]
fn mixed(row: &[f32], chunk: impl Fn(usize) -> Chunk) -> Chunk {
    let mut sum = [f32x4::ZERO; FOURS];
    for (vector, &coefficient) in row.iter().enumerate() {
        // Most rows leave most vectors out. What is left out counts for nothing, even where it is no number.
        if coefficient == 0.0 {
            continue;
        }
        let values = chunk(vector);
        let coefficient = f32x4::splat(coefficient);
        for (sum, value) in sum.iter_mut().zip(values) {
            *sum += coefficient * value;
        }
    }
    sum
}
