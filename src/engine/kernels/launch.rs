//! Launching a WGSL file over burn's tensors.

use burn::{
    backend::{DType, Shape},
    cubecl::{CubeCount, CubeDim, prelude::KernelId, server::KernelArguments},
};
use burn_cubecl::{
    template::{KernelSource, SourceKernel, SourceTemplate},
    tensor::CubeTensor,
};

use super::import::resolved;

/// Threads of one workgroup, as every file says.
const THREADS: u32 = 64;

/// The most workgroups of one dimension that every WebGPU device takes.
const MOST_GROUPS: u32 = 65_535;

/// A WGSL file with one entry point, `main`. The name is part of what cubecl keeps compiled kernels by, so it names one file only.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wgsl {
    pub(super) name: &'static str,
    pub(super) source: &'static str,
}

/// The file of that name in `shaders/`.
macro_rules! wgsl {
    ($name:literal) => {
        $crate::engine::kernels::launch::Wgsl {
            name: $name,
            source: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/shaders/", $name, ".wgsl")),
        }
    };
}
pub(super) use wgsl;

impl KernelSource for Wgsl {
    fn source(&self) -> SourceTemplate {
        SourceTemplate::new(resolved(self.source))
    }

    fn id(&self) -> KernelId {
        KernelId::new::<Self>().info(self.name)
    }

    fn lang(&self) -> &'static str {
        "wgsl"
    }
}

/// Runs at least `threads` threads over the tensors' buffers in order of binding, with `sizes` last. No buffer may be bound twice:
/// all are bound as writable, and WebGPU drops a dispatch whose writable bindings overlap.
pub(super) fn launch(kernel: Wgsl, threads: usize, tensors: &[&CubeTensor], sizes: &[usize]) {
    let Some(first) = tensors.first() else { return };
    let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let client = &first.client;
    let mut buffers: Vec<_> = tensors.iter().map(|tensor| tensor.handle.clone().binding()).collect();
    if !sizes.is_empty() {
        let sizes: Vec<u32> = sizes.iter().copied().map(small).collect();
        buffers.push(client.create_from_slice(bytemuck::cast_slice(&sizes)).binding());
    }
    let groups = small(threads).div_ceil(THREADS).max(1);
    let count = CubeCount::Static(groups.min(MOST_GROUPS), groups.div_ceil(MOST_GROUPS), 1);
    let source = SourceKernel::new(kernel, CubeDim::new_1d(THREADS));
    client.launch(Box::new(source), count, KernelArguments::new().with_buffers(buffers));
}

/// An unwritten f32 tensor beside `like`.
pub(super) fn empty(like: &CubeTensor, shape: Shape) -> CubeTensor {
    let buffer = like.client.empty(shape.num_elements() * size_of::<f32>());
    CubeTensor::new_contiguous(like.client.clone(), like.device.clone(), shape, buffer, DType::F32)
}
