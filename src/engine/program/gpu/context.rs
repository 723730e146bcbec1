//! The WebGPU device under burn's, and what is made once for all lists on it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use super::{
    kernel::Kernel,
    plan::{Plan, WINDOW_BYTES, write},
};
use crate::engine::{Device, program::Program};

/// The device that was opened last.
static OPENED: Mutex<Option<(Device, Arc<Gpu>)>> = Mutex::new(None);

/// A device, and what lists share on it.
pub(super) struct Gpu {
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    /// Of the three groups of bindings that every shader takes; see `shared/program.wgsl`.
    pub(super) layouts: [wgpu::BindGroupLayout; 3],
    layout: wgpu::PipelineLayout,
    pipelines: Mutex<HashMap<Kernel, wgpu::ComputePipeline>>,
    launches: Mutex<Known>,
}

/// Lists by their address, which the Weak keeps from being given to another.
type Known = HashMap<usize, (Weak<Program>, Arc<Launches>)>;

/// A list as the device has it.
pub(super) struct Launches {
    pub(super) plan: Plan,
    /// The plan's sizes.
    pub(super) sizes: wgpu::Buffer,
    /// The factors that stand in them.
    factors: Mutex<[f32; 2]>,
}

/// Says that `device` runs on `opened` and its queue.
pub(in crate::engine) fn opened(device: &Device, opened: &wgpu::Device, queue: &wgpu::Queue) {
    *locked(&OPENED) = Some((device.clone(), Arc::new(Gpu::new(opened, queue))));
}

/// Whether lists run on `device`.
pub(in crate::engine) fn runs_on(device: &Device) -> bool {
    let device = device.clone().without_autodiff();
    locked(&OPENED).as_ref().is_some_and(|(opened, _)| *opened == device)
}

/// Whether the device that was opened last can bind the memory that `program` needs, and launch as many workgroups.
pub(in crate::engine) fn holds(program: &Arc<Program>) -> bool {
    gpu().is_some_and(|gpu| {
        let launches = gpu.launches(program);
        let bytes = launches.plan.arena.max(launches.plan.packed) as u64 * 16;
        let limits = gpu.device.limits();
        bytes <= limits.max_storage_buffer_binding_size
            && bytes <= limits.max_buffer_size
            && launches.plan.most_groups() <= limits.max_compute_workgroups_per_dimension
    })
}

/// The device that was opened last.
pub(super) fn gpu() -> Option<Arc<Gpu>> {
    locked(&OPENED).as_ref().map(|(_, gpu)| gpu.clone())
}

impl Gpu {
    fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Self {
        let sizes = wgpu::BindingType::Buffer {
            ty: wgpu::BufferBindingType::Uniform,
            has_dynamic_offset: true,
            min_binding_size: None,
        };
        let storage = wgpu::BindingType::Buffer {
            ty: wgpu::BufferBindingType::Storage { read_only: false },
            has_dynamic_offset: false,
            min_binding_size: None,
        };
        let group = |types: &[wgpu::BindingType]| {
            let entries: Vec<_> = (0..)
                .zip(types)
                .map(|(binding, &ty)| wgpu::BindGroupLayoutEntry {
                    binding,
                    visibility: wgpu::ShaderStages::COMPUTE,
                    ty,
                    count: None,
                })
                .collect();
            device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: None,
                entries: &entries,
            })
        };
        let layouts = [group(&[sizes, storage]), group(&[storage; 2]), group(&[storage; 4])];
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &layouts.each_ref().map(Some),
            immediate_size: 0,
        });
        Self {
            device: device.clone(),
            queue: queue.clone(),
            layouts,
            layout,
            pipelines: Mutex::default(),
            launches: Mutex::default(),
        }
    }

    /// The launches of `program`, written once.
    pub(super) fn launches(&self, program: &Arc<Program>) -> Arc<Launches> {
        let mut known = locked(&self.launches);
        if let Some((_, launches)) = known.get(&Arc::as_ptr(program).addr()) {
            return launches.clone();
        }
        known.retain(|_, (program, _)| program.strong_count() > 0);
        let launches = Arc::new(Launches::new(self, write(program)));
        known.insert(Arc::as_ptr(program).addr(), (Arc::downgrade(program), launches.clone()));
        launches
    }

    /// The pipeline of `kernel`, which is made when it is first asked for.
    pub(super) fn pipeline(&self, kernel: Kernel) -> wgpu::ComputePipeline {
        let mut pipelines = locked(&self.pipelines);
        let made = pipelines.entry(kernel).or_insert_with(|| {
            let (name, source) = kernel.source();
            let module = self.device.create_shader_module(wgpu::ShaderModuleDescriptor {
                label: Some(name),
                source: wgpu::ShaderSource::Wgsl(source.into()),
            });
            self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(name),
                layout: Some(&self.layout),
                module: &module,
                entry_point: Some("main"),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: None,
            })
        });
        made.clone()
    }
}

impl Launches {
    fn new(gpu: &Gpu, plan: Plan) -> Self {
        // All at once, so that a browser compiles the last while the first already run.
        for steps in [&plan.pack, &plan.forward, &plan.backward, &plan.weights[0]] {
            for step in steps {
                gpu.pipeline(step.kernel);
            }
        }
        let sizes = gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("sizes of a list"),
            size: plan.sizes.len() as u64 * 4,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        gpu.queue.write_buffer(&sizes, 0, bytemuck::cast_slice(&plan.sizes));
        Self {
            plan,
            sizes,
            factors: Mutex::new([1.0; 2]),
        }
    }

    /// Gradients of parameters are multiplied by `factor` from here on; `which` as in [`Plan::weights`].
    pub(super) fn set_factor(&self, gpu: &Gpu, which: usize, factor: f32) {
        let standing = &mut locked(&self.factors)[which];
        if standing.to_bits() != factor.to_bits() {
            *standing = factor;
            for step in &self.plan.weights[which] {
                gpu.queue
                    .write_buffer(&self.sizes, Plan::factor_of(step), &factor.to_le_bytes());
            }
        }
    }

    /// What is bound for each launch's sizes.
    pub(super) fn window(&self) -> wgpu::BindingResource<'_> {
        wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer: &self.sizes,
            offset: 0,
            size: wgpu::BufferSize::new(WINDOW_BYTES as u64),
        })
    }
}

/// A panic elsewhere leaves nothing half done here.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
