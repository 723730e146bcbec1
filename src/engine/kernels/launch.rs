//! Launching a WGSL file over burn's tensors.

use burn::{
    backend::{DType, Shape},
    cubecl::{CubeCount, CubeDim, prelude::KernelId, server::KernelArguments},
};
use burn_cubecl::{
    template::{KernelSource, SourceKernel, SourceTemplate},
    tensor::CubeTensor,
};

/// A WGSL file with one entry point, `main`.
pub(super) trait Wgsl: Clone + Send + Sync + 'static {
    /// Its text.
    const SOURCE: &'static str;
    /// Threads of one workgroup, as the text says.
    const THREADS: u32;
}

/// Gives a [`Wgsl`] what cubecl asks of a kernel.
struct Kernel<W>(W);

impl<W: Wgsl> KernelSource for Kernel<W> {
    fn source(&self) -> SourceTemplate {
        SourceTemplate::new(W::SOURCE)
    }

    fn id(&self) -> KernelId {
        KernelId::new::<Self>()
    }

    fn lang(&self) -> &'static str {
        "wgsl"
    }
}

/// Runs `threads` threads of `kernel` (rounded up to whole workgroups) over the tensors' buffers in order of binding, with `sizes` last.
pub(super) fn launch<W: Wgsl>(kernel: W, threads: usize, tensors: &[&CubeTensor], sizes: &[usize]) {
    let Some(first) = tensors.first() else { return };
    let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let client = &first.client;
    let mut buffers: Vec<_> = tensors.iter().map(|tensor| tensor.handle.clone().binding()).collect();
    if !sizes.is_empty() {
        let sizes: Vec<u32> = sizes.iter().copied().map(small).collect();
        buffers.push(client.create_from_slice(bytemuck::cast_slice(&sizes)).binding());
    }
    let count = CubeCount::Static(small(threads).div_ceil(W::THREADS).max(1), 1, 1);
    let source = SourceKernel::new(Kernel(kernel), CubeDim::new_1d(W::THREADS));
    client.launch(Box::new(source), count, KernelArguments::new().with_buffers(buffers));
}

/// An unwritten f32 tensor beside `like`.
pub(super) fn empty(like: &CubeTensor, shape: Shape) -> CubeTensor {
    let buffer = like.client.empty(shape.num_elements() * size_of::<f32>());
    CubeTensor::new_contiguous(like.client.clone(), like.device.clone(), shape, buffer, DType::F32)
}
