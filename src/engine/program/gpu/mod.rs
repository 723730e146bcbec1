//! Working lists off on WebGPU: one compute pass and one submission for a forward, and one for a backward. The shaders lie in
//! `shaders/program/`; their twin is the network in burn's operations.
//!
//! Launches go around cubecl, which makes a group of bindings for each: here all shaders see the same few buffers, and only an offset to
//! their sizes changes.

mod arena;
mod context;
mod kernel;
mod memory;
mod pack;
mod plan;
mod side;
mod steps;
mod weights;

use burn::{
    backend::{
        DType, Shape,
        tensor::{FloatTensor, IntTensor},
    },
    cubecl::{client::Client, server::Handle},
};
use burn_cubecl::{CubeBackend, kernel::into_contiguous, tensor::CubeTensor};

use context::{Gpu, Launches, gpu};
pub(in crate::engine) use context::{holds, opened, runs_on};
use memory::{Bound, Memory};
use plan::Step;

use super::{Tape, run::Programs};
use crate::engine::microbatch::to_f32;

impl Programs for CubeBackend {
    fn program_forward(
        parameters: FloatTensor<Self>,
        tokens: IntTensor<Self>,
        labels: IntTensor<Self>,
        _scored: FloatTensor<Self>,
        weights: FloatTensor<Self>,
        weighted: bool,
        tape: Tape,
    ) -> FloatTensor<Self> {
        let parameters = into_contiguous(parameters);
        let batch = [tokens, labels, weights].map(into_contiguous);
        let count = if weighted { 4 } else { 2 };
        let client = &parameters.client;
        let totals = client.empty(count * size_of::<f32>());
        let done = forward(&parameters, &batch, &totals, &tape);
        flat(&parameters, count, or_nothing(client, totals, count, done))
    }

    fn program_backward(
        parameters: FloatTensor<Self>,
        _tokens: IntTensor<Self>,
        _labels: IntTensor<Self>,
        _weights: FloatTensor<Self>,
        into: FloatTensor<Self>,
        adds: bool,
        factor: f64,
        // Its style says that it weighs no rows, so there is nothing in it.
        _by_row: Vec<f32>,
        tape: Tape,
    ) -> FloatTensor<Self> {
        let count = parameters.meta.shape().num_elements();
        let client = &parameters.client;
        let sum = if !adds {
            client.empty(count * size_of::<f32>())
        } else if into.can_mut() {
            into_contiguous(into).handle
        } else {
            into.copy().handle
        };
        let done = tape.with(|memory: &mut Memory| backward(client, memory, &sum, adds, to_f32(factor), &tape));
        flat(&parameters, count, or_nothing(client, sum, count, done.flatten()))
    }
}

fn flat(like: &CubeTensor, count: usize, handle: Handle) -> CubeTensor {
    let shape = Shape::new([count]);
    CubeTensor::new_contiguous(like.client.clone(), like.device.clone(), shape, handle, DType::F32)
}

/// A buffer that could not be bound, as after the loss of a device, holds no numbers.
fn or_nothing(client: &Client, handle: Handle, count: usize, done: Option<()>) -> Handle {
    match done {
        Some(()) => handle,
        None => client.create_from_slice(bytemuck::cast_slice(&vec![f32::NAN; count])),
    }
}

fn forward(parameters: &CubeTensor, batch: &[CubeTensor; 3], totals: &Handle, tape: &Tape) -> Option<()> {
    let gpu = gpu()?;
    let client = &parameters.client;
    let launches = gpu.launches(tape.program());
    let mut memory = Memory::new(client, &launches, tape.workspace().spare());
    let mut bound = Vec::new();
    for handle in batch.iter().map(|tensor| &tensor.handle).chain([totals]) {
        bound.push(Bound::of(client, handle)?);
    }
    let batch = memory.of_batch(&gpu, bound);
    memory.batch = Some(batch.clone());
    let flat = Bound::of(client, &parameters.handle)?;
    let groups = [
        memory.working(&gpu, &launches, client)?,
        memory.ordered(&gpu, client, flat)?,
        batch,
    ];
    let pack: &[Step] = if memory.lay_out(&parameters.handle) {
        &launches.plan.pack
    } else {
        &[]
    };
    submit(&gpu, client, &groups, [pack, &launches.plan.forward])?;
    tape.keep(memory);
    Some(())
}

fn backward(client: &Client, memory: &mut Memory, sum: &Handle, adds: bool, factor: f32, tape: &Tape) -> Option<()> {
    let gpu = gpu()?;
    let launches: &Launches = &gpu.launches(tape.program());
    let sum = Bound::of(client, sum)?;
    let groups = [
        memory.working(&gpu, launches, client)?,
        memory.ordered(&gpu, client, sum)?,
        memory.batch.clone()?,
    ];
    let which = usize::from(adds);
    launches.set_factor(&gpu, which, factor);
    submit(
        &gpu,
        client,
        &groups,
        [&launches.plan.backward, &launches.plan.weights[which]],
    )
}

/// Sends what burn has recorded, and then these launches.
fn submit(gpu: &Gpu, client: &Client, groups: &[wgpu::BindGroup; 3], steps: [&[Step]; 2]) -> Option<()> {
    client.flush().ok()?;
    let mut encoder = gpu
        .device
        .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
    pass.set_bind_group(1, &groups[1], &[]);
    pass.set_bind_group(2, &groups[2], &[]);
    let mut last = None;
    for step in steps.into_iter().flatten() {
        if last != Some(step.kernel) {
            pass.set_pipeline(&gpu.pipeline(step.kernel));
            last = Some(step.kernel);
        }
        pass.set_bind_group(0, &groups[0], &[step.sizes]);
        pass.dispatch_workgroups(step.groups.0, step.groups.1, 1);
    }
    drop(pass);
    gpu.queue.submit([encoder.finish()]);
    Some(())
}
