//! LayerNorm over rows.

use wide::f32x4;

use crate::{
    Scratch,
    four::{LANES, load, store, sum},
    linear::Share,
};

/// Added to the variance, torch's default.
const EPSILON: f32 = 1e-5;

/// `out = (x - mean) / sqrt(variance + 1e-5) * gain + bias`, row by row; `moments` gets mean and 1 / deviation of each row.
pub fn forward(x: &[f32], gain: &[f32], bias: &[f32], out: &mut [f32], moments: &mut [f32]) {
    let width = gain.len();
    let lines = x.chunks_exact(width).zip(out.chunks_exact_mut(width));
    for ((x, out), moments) in lines.zip(moments.chunks_exact_mut(2)) {
        let mean = sum(width, |at| load(x, at)) / width as f32;
        let variance = sum(width, |at| {
            let apart = inside(load(x, at) - f32x4::splat(mean), at, width);
            apart * apart
        }) / width as f32;
        let inverse = 1.0 / (variance + EPSILON).sqrt();
        moments.copy_from_slice(&[mean, inverse]);
        for at in (0..width).step_by(LANES) {
            let normed = (load(x, at) - f32x4::splat(mean)) * inverse;
            store(out, at, normed * load(gain, at) + load(bias, at));
        }
    }
}

/// The gradient of the input, plus `add`, which is that of a residual stream.
pub fn backward_input(d_y: &[f32], x: &[f32], moments: &[f32], gain: &[f32], add: Option<&[f32]>, out: &mut [f32]) {
    let width = gain.len();
    let lines = d_y.chunks_exact(width).zip(x.chunks_exact(width)).enumerate();
    for (row, (d_y, x)) in lines {
        let [mean, inverse] = [moments[2 * row], moments[2 * row + 1]];
        let add = add.map(|add| &add[row * width..][..width]);
        let out = &mut out[row * width..][..width];
        let normed = |at| (load(x, at) - f32x4::splat(mean)) * inverse;
        // Beyond the row's end gain is 0, and so is every term.
        let slope = |at| load(d_y, at) * load(gain, at);
        let level = sum(width, slope) / width as f32;
        let tilt = sum(width, |at| slope(at) * normed(at)) / width as f32;
        for at in (0..width).step_by(LANES) {
            let d_x = (slope(at) - f32x4::splat(level) - normed(at) * tilt) * inverse;
            store(out, at, add.map_or(d_x, |add| d_x + load(add, at)));
        }
    }
}

/// The gradients of gain and bias.
pub fn backward_weight(
    d_y: &[f32],
    x: &[f32],
    moments: &[f32],
    share: Share,
    d_gain: &mut [f32],
    d_bias: &mut [f32],
    scratch: &mut Scratch,
) {
    let width = d_gain.len();
    scratch.sums.clear();
    scratch.sums.resize(2 * width, 0.0);
    let (gains, biases) = scratch.sums.split_at_mut(width);
    let lines = d_y.chunks_exact(width).zip(x.chunks_exact(width));
    for ((d_y, x), moments) in lines.zip(moments.chunks_exact(2)) {
        let &[mean, inverse] = moments else { continue };
        for at in (0..width).step_by(LANES) {
            let (d_y, x) = (load(d_y, at), load(x, at));
            let gain = load(gains, at) + d_y * ((x - f32x4::splat(mean)) * inverse);
            store(gains, at, gain);
            let bias = load(biases, at) + d_y;
            store(biases, at, bias);
        }
    }
    share.put(gains, d_gain);
    share.put(biases, d_bias);
}

/// `value` with 0 for what lies beyond the row's end.
#[inline]
fn inside(value: f32x4, at: usize, width: usize) -> f32x4 {
    if at + LANES <= width {
        return value;
    }
    let value = value.to_array();
    f32x4::new(std::array::from_fn(|i| if at + i < width { value[i] } else { 0.0 }))
}
