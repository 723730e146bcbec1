//! The layers of the networks in WGSL: a launch or two each, where stock operations take up to thirty.

use burn::{
    backend::{
        Autodiff, Backend, Dispatch, Shape, TensorMetadata, autodiff::checkpoint::strategy::CheckpointStrategy,
        backend_extension, tensor::FloatTensor,
    },
    tensor::Tensor,
};
use burn_cubecl::{CubeBackend, kernel::into_contiguous};

use super::{
    launch::{empty, launch, wgsl},
    record::record,
};

/// `x @ weight + bias`; the weight is [out][in] if `by_output`, else [in][out]. The bias has one row.
pub fn affine(x: Tensor<2>, weight: Tensor<2>, bias: Tensor<2>, by_output: bool) -> Tensor<2> {
    let [x, weight, bias] = [x, weight, bias].map(Tensor::into_dispatch);
    Tensor::from_dispatch(Dispatch::affine(x, weight, bias, by_output))
}

/// LayerNorm over the columns, with eps 1e-5. Gain and bias have one row.
pub fn layer_norm(x: Tensor<2>, gain: Tensor<2>, bias: Tensor<2>) -> Tensor<2> {
    let [x, gain, bias] = [x, gain, bias].map(Tensor::into_dispatch);
    Tensor::from_dispatch(Dispatch::layer_norm_rows(x, gain, bias))
}

/// The exact GELU.
pub fn gelu(x: Tensor<2>) -> Tensor<2> {
    Tensor::from_dispatch(Dispatch::exact_gelu(x.into_dispatch()))
}

/// Causal softmax attention; `qkv` is rows * columns x 3 width.
pub fn attention(qkv: Tensor<2>, columns: usize, heads: usize) -> Tensor<2> {
    Tensor::from_dispatch(Dispatch::causal_attention(qkv.into_dispatch(), columns, heads))
}

/// The forwards, on any device that has them.
#[backend_extension(Cube, Autodiff)]
pub trait Layers: Backend {
    /// See [`affine`].
    fn affine(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        by_output: bool,
    ) -> FloatTensor<Self>;

    /// See [`layer_norm`].
    fn layer_norm_rows(x: FloatTensor<Self>, gain: FloatTensor<Self>, bias: FloatTensor<Self>) -> FloatTensor<Self>;

    /// See [`gelu`].
    fn exact_gelu(x: FloatTensor<Self>) -> FloatTensor<Self>;

    /// See [`attention`].
    fn causal_attention(qkv: FloatTensor<Self>, columns: usize, heads: usize) -> FloatTensor<Self>;
}

/// The backwards, which only the autodiff wrapper calls: the gradients of a forward's inputs, given that of its output.
pub trait LayerGradients: Backend {
    /// Of [`affine`].
    fn affine_backward(
        inputs: [FloatTensor<Self>; 3],
        d_y: FloatTensor<Self>,
        by_output: bool,
    ) -> [FloatTensor<Self>; 3];
    /// Of [`layer_norm`].
    fn layer_norm_backward(inputs: [FloatTensor<Self>; 3], d_y: FloatTensor<Self>) -> [FloatTensor<Self>; 3];
    /// Of [`gelu`].
    fn gelu_backward_exact(input: FloatTensor<Self>, d_y: FloatTensor<Self>) -> FloatTensor<Self>;
    /// Of [`attention`].
    fn attention_backward(
        qkv: FloatTensor<Self>,
        d_mixed: FloatTensor<Self>,
        columns: usize,
        heads: usize,
    ) -> FloatTensor<Self>;
}

/// Rows, inputs, outputs and the strides of the weight, as the affine kernels read them.
fn affine_sizes(x: &Shape, weight: &Shape, by_output: bool) -> [usize; 5] {
    let [rows, inputs] = x.dims();
    let [first, second] = weight.dims();
    if by_output {
        [rows, inputs, first, 1, inputs]
    } else {
        [rows, inputs, second, second, 1]
    }
}

impl Layers for CubeBackend {
    fn affine(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        by_output: bool,
    ) -> FloatTensor<Self> {
        let [x, weight, bias] = [x, weight, bias].map(into_contiguous);
        let sizes = affine_sizes(&x.shape(), &weight.shape(), by_output);
        let [rows, _, outputs, ..] = sizes;
        let y = empty(&x, Shape::new([rows, outputs]));
        launch(wgsl!("affine"), rows * outputs, &[&x, &weight, &bias, &y], &sizes);
        y
    }

    fn layer_norm_rows(x: FloatTensor<Self>, gain: FloatTensor<Self>, bias: FloatTensor<Self>) -> FloatTensor<Self> {
        let [x, gain, bias] = [x, gain, bias].map(into_contiguous);
        let [rows, width] = x.shape().dims();
        let y = empty(&x, x.shape());
        launch(wgsl!("layer_norm"), rows, &[&x, &gain, &bias, &y], &[rows, width]);
        y
    }

    fn exact_gelu(x: FloatTensor<Self>) -> FloatTensor<Self> {
        let x = into_contiguous(x);
        let (shape, y) = (x.shape(), empty(&x, x.shape()));
        let count = shape.num_elements();
        launch(wgsl!("gelu"), count, &[&x, &y], &[count]);
        y
    }

    fn causal_attention(qkv: FloatTensor<Self>, columns: usize, heads: usize) -> FloatTensor<Self> {
        let qkv = into_contiguous(qkv);
        let [positions, three_widths] = qkv.shape().dims();
        let width = three_widths / 3;
        let probabilities = empty(&qkv, Shape::new([positions, heads, columns]));
        let mixed = empty(&qkv, Shape::new([positions, width]));
        let sizes = [positions / columns, columns, heads, width / heads];
        launch(
            wgsl!("attention"),
            positions * heads,
            &[&qkv, &probabilities, &mixed],
            &sizes,
        );
        mixed
    }
}

impl LayerGradients for CubeBackend {
    fn affine_backward(
        inputs: [FloatTensor<Self>; 3],
        d_y: FloatTensor<Self>,
        by_output: bool,
    ) -> [FloatTensor<Self>; 3] {
        let [x, weight, bias] = inputs.map(into_contiguous);
        let d_y = into_contiguous(d_y);
        let sizes = affine_sizes(&x.shape(), &weight.shape(), by_output);
        let [rows, inputs, outputs, ..] = sizes;
        let [d_x, d_weight, d_bias] = [&x, &weight, &bias].map(|of| empty(of, of.shape()));
        launch(
            wgsl!("affine_backward_input"),
            rows * inputs,
            &[&weight, &d_y, &d_x],
            &sizes,
        );
        let tensors = [&x, &d_y, &d_weight, &d_bias];
        launch(
            wgsl!("affine_backward_weight"),
            (inputs + 1) * outputs,
            &tensors,
            &sizes,
        );
        [d_x, d_weight, d_bias]
    }

    fn layer_norm_backward(inputs: [FloatTensor<Self>; 3], d_y: FloatTensor<Self>) -> [FloatTensor<Self>; 3] {
        let [x, gain, bias] = inputs.map(into_contiguous);
        let d_y = into_contiguous(d_y);
        let [rows, width] = x.shape().dims();
        let [d_x, normed] = [(); 2].map(|()| empty(&x, x.shape()));
        let [d_gain, d_bias] = [&gain, &bias].map(|of| empty(of, of.shape()));
        let sizes = [rows, width];
        launch(
            wgsl!("layer_norm_backward"),
            rows,
            &[&x, &gain, &d_y, &d_x, &normed],
            &sizes,
        );
        launch(
            wgsl!("layer_norm_backward_gain"),
            width,
            &[&d_y, &normed, &d_gain, &d_bias],
            &sizes,
        );
        [d_x, d_gain, d_bias]
    }

    fn gelu_backward_exact(x: FloatTensor<Self>, d_y: FloatTensor<Self>) -> FloatTensor<Self> {
        let [x, d_y] = [x, d_y].map(into_contiguous);
        let d_x = empty(&x, x.shape());
        let count = x.shape().num_elements();
        launch(wgsl!("gelu_backward"), count, &[&x, &d_y, &d_x], &[count]);
        d_x
    }

    fn attention_backward(
        qkv: FloatTensor<Self>,
        d_mixed: FloatTensor<Self>,
        columns: usize,
        heads: usize,
    ) -> FloatTensor<Self> {
        let [qkv, d_mixed] = [qkv, d_mixed].map(into_contiguous);
        let [positions, width] = d_mixed.shape().dims();
        let [probabilities, d_scores] = [(); 2].map(|()| empty(&qkv, Shape::new([positions, heads, columns])));
        let d_qkv = empty(&qkv, qkv.shape());
        let sizes = [positions / columns, columns, heads, width / heads];
        let tensors = [&qkv, &d_mixed, &probabilities, &d_scores, &d_qkv];
        launch(wgsl!("attention_backward_query"), positions * heads, &tensors, &sizes);
        launch(wgsl!("attention_backward_key"), positions * heads, &tensors, &sizes);
        d_qkv
    }
}

impl<B: Layers + LayerGradients, C: CheckpointStrategy> Layers for Autodiff<B, C> {
    fn affine(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        by_output: bool,
    ) -> FloatTensor<Self> {
        record::<B, C, 3>(
            [x, weight, bias],
            |[x, weight, bias]| B::affine(x, weight, bias, by_output),
            move |inputs, d_y| B::affine_backward(inputs, d_y, by_output),
        )
    }

    fn layer_norm_rows(x: FloatTensor<Self>, gain: FloatTensor<Self>, bias: FloatTensor<Self>) -> FloatTensor<Self> {
        record::<B, C, 3>(
            [x, gain, bias],
            |[x, gain, bias]| B::layer_norm_rows(x, gain, bias),
            B::layer_norm_backward,
        )
    }

    fn exact_gelu(x: FloatTensor<Self>) -> FloatTensor<Self> {
        record::<B, C, 1>([x], |[x]| B::exact_gelu(x), |[x], d_y| [B::gelu_backward_exact(x, d_y)])
    }

    fn causal_attention(qkv: FloatTensor<Self>, columns: usize, heads: usize) -> FloatTensor<Self> {
        record::<B, C, 1>(
            [qkv],
            |[qkv]| B::causal_attention(qkv, columns, heads),
            move |[qkv], d_mixed| [B::attention_backward(qkv, d_mixed, columns, heads)],
        )
    }
}
