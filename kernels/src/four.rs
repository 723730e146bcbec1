//! Four floats at a time out of slices of any length.

use wide::f32x4;

/// Floats in a vector.
pub(crate) const LANES: usize = 4;

/// Four floats from `at`; 0 beyond the end.
#[inline]
pub(crate) fn load(from: &[f32], at: usize) -> f32x4 {
    match from.get(at..at + LANES) {
        // Read as bytes, since taking an array apart makes four reads of one.
        Some(four) => bytemuck::pod_read_unaligned(bytemuck::cast_slice(four)),
        None => f32x4::new(std::array::from_fn(|i| from.get(at + i).copied().unwrap_or(0.0))),
    }
}

/// Writes as many of four floats as there is room for.
#[inline]
pub(crate) fn store(to: &mut [f32], at: usize, value: f32x4) {
    if let Some(four) = to.get_mut(at..at + LANES) {
        bytemuck::cast_slice_mut(four).copy_from_slice(bytemuck::bytes_of(&value));
    } else if let Some(rest) = to.get_mut(at..) {
        rest.iter_mut()
            .zip(value.to_array())
            .for_each(|(to, value)| *to = value);
    }
}

/// The sum of `term(at)` over `at = 0, 4, 8 ...` below `length`. Terms beyond the length must be 0.
#[inline]
pub(crate) fn sum(length: usize, mut term: impl FnMut(usize) -> f32x4) -> f32 {
    let mut total = f32x4::ZERO;
    for at in (0..length).step_by(LANES) {
        total += term(at);
    }
    total.reduce_add()
}
