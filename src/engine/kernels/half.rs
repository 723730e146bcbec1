//! Rounding to half precision in WGSL, forward and backward alike.

use burn::{
    backend::{
        Autodiff, Backend, Dispatch, TensorMetadata, autodiff::checkpoint::strategy::CheckpointStrategy,
        backend_extension, tensor::FloatTensor,
    },
    tensor::Tensor,
};
use burn_cubecl::{CubeBackend, kernel::into_contiguous};

use super::{
    launch::{empty, launch, wgsl},
    record::record,
};

/// Every element to the nearest number of half precision; the gradient that comes back is rounded, too.
pub fn half(x: Tensor<2>) -> Tensor<2> {
    Tensor::from_dispatch(Dispatch::round_to_half(x.into_dispatch()))
}

/// On any device that has it.
#[backend_extension(Cube, Autodiff)]
pub trait Half: Backend {
    /// See [`half`].
    fn round_to_half(x: FloatTensor<Self>) -> FloatTensor<Self>;
}

impl Half for CubeBackend {
    fn round_to_half(x: FloatTensor<Self>) -> FloatTensor<Self> {
        let x = into_contiguous(x);
        let y = empty(&x, x.shape());
        let count = x.shape().num_elements();
        launch(wgsl!("half"), count, &[&x, &y], &[count]);
        y
    }
}

impl<B: Half, C: CheckpointStrategy> Half for Autodiff<B, C> {
    fn round_to_half(x: FloatTensor<Self>) -> FloatTensor<Self> {
        record::<B, C, 1>([x], |[x]| B::round_to_half(x), |_, d_y| [B::round_to_half(d_y)])
    }
}
