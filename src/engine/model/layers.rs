//! The layers that networks are made of: the hand-written kernel where there is one, its twin of stock operations elsewhere.

use burn::tensor::{FloatDType, Tensor, activation};

use crate::batch::oracle::transformer::LAYER_NORM_EPS;

/// How a Linear layer's weight lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// [out][in], as torch has it.
    ByOutput,
    /// [in][out].
    ByInput,
}

/// `x @ weight + bias`.
pub fn affine(x: Tensor<2>, weight: Tensor<2>, bias: Tensor<2>, layout: Layout) -> Tensor<2> {
    #[cfg(feature = "gpu")]
    if crate::engine::kernels::run_on(&x.device()) {
        return crate::engine::kernels::layers::affine(x, weight, bias, layout == Layout::ByOutput);
    }
    twin::affine(x, weight, bias, layout)
}

/// LayerNorm over the columns.
pub fn layer_norm(x: Tensor<2>, gain: Tensor<2>, bias: Tensor<2>) -> Tensor<2> {
    #[cfg(feature = "gpu")]
    if crate::engine::kernels::run_on(&x.device()) {
        return crate::engine::kernels::layers::layer_norm(x, gain, bias);
    }
    twin::layer_norm(x, gain, bias)
}

/// The exact GELU.
pub fn gelu(x: Tensor<2>) -> Tensor<2> {
    #[cfg(feature = "gpu")]
    if crate::engine::kernels::run_on(&x.device()) {
        return crate::engine::kernels::layers::gelu(x);
    }
    // Fused and exact on the CPU device; elsewhere burn 0.22.1 sends back the slope of the tanh approximation.
    activation::gelu(x)
}

/// Rounded to half precision, as [`crate::batch::oracle::half::to_half`] says; the gradient that comes back is rounded likewise.
pub fn half(x: Tensor<2>) -> Tensor<2> {
    #[cfg(feature = "gpu")]
    if crate::engine::kernels::run_on(&x.device()) {
        return crate::engine::kernels::half::half(x);
    }
    twin::half(x)
}

/// Softmax attention of every position over itself and the positions before it in its row. `qkv` is rows * columns x 3 width: queries,
/// keys, values, each head by head. `later` hides what comes after; see [`crate::engine::microbatch::Inputs::later`].
pub fn attention(qkv: Tensor<2>, columns: usize, heads: usize, later: impl FnOnce() -> Tensor<2>) -> Tensor<2> {
    #[cfg(feature = "gpu")]
    if crate::engine::kernels::run_on(&qkv.device()) {
        return crate::engine::kernels::layers::attention(qkv, columns, heads);
    }
    twin::attention(qkv, columns, heads, later())
}

/// The same in stock operations.
pub mod twin {
    use super::{FloatDType, LAYER_NORM_EPS, Layout, Tensor, activation};

    /// Twin of [`super::affine`].
    pub fn affine(x: Tensor<2>, weight: Tensor<2>, bias: Tensor<2>, layout: Layout) -> Tensor<2> {
        let weight = match layout {
            Layout::ByOutput => weight.transpose(),
            Layout::ByInput => weight,
        };
        x.matmul(weight) + bias
    }

    /// Twin of [`super::layer_norm`].
    pub fn layer_norm(x: Tensor<2>, gain: Tensor<2>, bias: Tensor<2>) -> Tensor<2> {
        let centred = x.clone() - x.mean_dim(1);
        let variance = centred.clone().square().mean_dim(1);
        centred / (variance + LAYER_NORM_EPS).sqrt() * gain + bias
    }

    /// Twin of [`super::gelu`].
    pub fn gelu(x: Tensor<2>) -> Tensor<2> {
        (x.clone() / std::f64::consts::SQRT_2).erf().add_scalar(1.0) * x * 0.5
    }

    /// Twin of [`super::half`], for devices that have 16 bits. Backward through a cast is a cast to where it came from, so the gradient is
    /// rounded on its way through the 16 bits, too.
    pub fn half(x: Tensor<2>) -> Tensor<2> {
        x.cast(FloatDType::F16).cast(FloatDType::F32)
    }

    /// Twin of [`super::attention`].
    pub fn attention(qkv: Tensor<2>, columns: usize, heads: usize, later: Tensor<2>) -> Tensor<2> {
        let [positions, three_widths] = qkv.dims();
        let (rows, width) = (positions / columns, three_widths / 3);
        let size = width / heads;
        let qkv = qkv.reshape([rows, columns, 3, heads, size]).permute([2, 0, 3, 1, 4]);
        let part = |which: usize| qkv.clone().narrow(0, which, 1).reshape([rows, heads, columns, size]);
        let (q, k, v) = (part(0), part(1), part(2));
        let scores = q.matmul(k.transpose()) / (size as f64).sqrt();
        let probabilities = activation::softmax(scores + later.unsqueeze::<4>(), 3);
        probabilities
            .matmul(v)
            .permute([0, 2, 1, 3])
            .reshape([positions, width])
    }
}
