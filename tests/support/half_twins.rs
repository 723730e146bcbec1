//! Rounding to half precision on a device against its definition, bit for bit: forward and, through the gradient, backward. On WebGPU it is
//! the kernel `half`, elsewhere its twin.

use burn::tensor::{Tensor, TensorData};
use microbatch_lab::{
    batch::oracle::half::to_half,
    engine::{Device, readback::Readback},
};

/// Numbers next to every place where something changes, and a spread of ordinary ones of all sizes, both signs.
fn numbers() -> Vec<f32> {
    let edges = [
        0.0,
        f32::from_bits(1),
        2f32.powi(-25),
        6e-8,
        2f32.powi(-24),
        1.5 * 2f32.powi(-24),
        2.5 * 2f32.powi(-24),
        2f32.powi(-15),
        2f32.powi(-14),
        1023.5 * 2f32.powi(-24),
        1.0,
        1.0 + 2f32.powi(-11),
        1.0 + 3.0 * 2f32.powi(-11),
        2047.5,
        2048.5,
        65504.0,
        65519.0,
        65520.0,
        65536.0,
        f32::MAX,
    ];
    let beside = edges.into_iter().flat_map(|x| [x.next_down(), x, x.next_up()]);
    // A stride that meets every exponent of f32 many times, with irregular low bits.
    let spread = (0..5000u32).map(|i| f32::from_bits(i.wrapping_mul(429_467)));
    let all: Vec<f32> = beside.chain(spread).chain([f32::INFINITY, f32::NAN]).collect();
    all.iter().flat_map(|&x| [x, -x]).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a number of half precision is one of f32"
)]
fn expected(x: f32) -> f32 {
    to_half(f64::from(x)) as f32
}

fn assert_rounded(what: &str, numbers: &[f32], rounded: &[f32]) {
    assert_eq!(numbers.len(), rounded.len(), "{what}");
    for (&x, &ours) in numbers.iter().zip(rounded) {
        let wanted = expected(x);
        let same = ours.to_bits() == wanted.to_bits() || (ours.is_nan() && wanted.is_nan());
        assert!(same, "{what}: {x:e} gave {ours:e} instead of {wanted:e}");
    }
}

/// `half` on `device` is what [`to_half`] says, and so is what comes back through it.
pub(crate) async fn equals_definition(device: &Device, what: &str, half: impl Fn(Tensor<2>) -> Tensor<2>) {
    let values = numbers();
    let count = values.len();
    let tensor = |values: Vec<f32>| Tensor::<2>::from_data(TensorData::new(values, [2, count / 2]), device);
    let leaf = tensor(vec![1.0; count]).autodiff().require_grad();
    // The gradient of a sum of products is the other factor, which may be anything but a number that a product cannot take.
    let back = half(leaf.clone()) * tensor(values.clone());
    let gradient = leaf.grad_remove(&mut back.backward()).expect("a leaf");
    let mut readback = Readback::default();
    let forward = readback.add(&half(tensor(values.clone())).reshape([count]));
    let backward = readback.add(&gradient.reshape([count]));
    let read = readback.read().await.expect("read");
    assert_rounded(&format!("{what}, forward"), &values, read.of(forward));
    assert_rounded(&format!("{what}, backward"), &values, read.of(backward));
}
