//! The working memory of one forward and its backward, in burn's own pools, and how shaders see it.

use burn::cubecl::{
    client::Client,
    server::Handle,
    wgpu::{AutoCompiler, WgpuServer},
};

use super::context::{Gpu, Launches};

/// The most groups of bindings that are kept for when the same buffers come again: a few times as many as a group has microbatches.
const MOST_GROUPS: usize = 48;

/// Memory for lists of one network, whatever their shape.
pub(super) struct Memory {
    arena: Room,
    packed: Room,
    /// Whose layout in quads is in `packed`. That it is held here keeps burn from writing over it.
    laid_out: Option<Handle>,
    /// Tokens, labels, weights and totals of the present forward.
    pub(super) batch: Option<wgpu::BindGroup>,
    groups: Vec<(Vec<Bound>, wgpu::BindGroup)>,
}

struct Room {
    handle: Handle,
    quads: usize,
}

/// A stretch of a buffer as a shader sees it.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) buffer: wgpu::Buffer,
    offset: u64,
    size: u64,
}

impl Bound {
    /// Where `handle` lies. What burn was asked to do with it before is recorded by then, but not yet sent.
    pub(super) fn of(client: &Client, handle: &Handle) -> Option<Self> {
        let managed = client.get_resource::<WgpuServer<AutoCompiler>>(handle.clone()).ok()?;
        let resource = managed.resource();
        Some(Self {
            buffer: resource.buffer.clone(),
            offset: resource.offset,
            // The resource may be larger, and a shader sees the length.
            size: handle.size_in_used().next_multiple_of(4),
        })
    }

    fn resource(&self) -> wgpu::BindingResource<'_> {
        wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer: &self.buffer,
            offset: self.offset,
            size: wgpu::BufferSize::new(self.size),
        })
    }
}

impl Room {
    fn new(client: &Client, quads: usize) -> Self {
        Self {
            handle: client.empty(quads.max(1) * 16),
            quads,
        }
    }
}

impl Memory {
    /// `spare` if it is large enough.
    pub(super) fn new(client: &Client, launches: &Launches, spare: Option<Self>) -> Self {
        let (arena, packed) = (launches.plan.arena, launches.plan.packed);
        match spare {
            Some(spare) if spare.arena.quads >= arena && spare.packed.quads >= packed => spare,
            spare => {
                // The old one goes first, so that its place may be taken.
                drop(spare);
                Self {
                    arena: Room::new(client, arena),
                    packed: Room::new(client, packed),
                    laid_out: None,
                    batch: None,
                    groups: Vec::new(),
                }
            }
        }
    }

    /// Says that `parameters` will be laid out now; `false` where they are already.
    pub(super) fn lay_out(&mut self, parameters: &Handle) -> bool {
        let key = |handle: &Handle| handle.clone().binding().claim_key();
        let done = self.laid_out.as_ref().is_some_and(|of| key(of) == key(parameters));
        if !done {
            self.laid_out = Some(parameters.clone());
        }
        !done
    }

    /// Bindings of the sizes of launches and of the working memory.
    pub(super) fn working(&mut self, gpu: &Gpu, launches: &Launches, client: &Client) -> Option<wgpu::BindGroup> {
        let arena = Bound::of(client, &self.arena.handle)?;
        let sizes = Bound {
            buffer: launches.sizes.clone(),
            offset: 0,
            size: 0,
        };
        Some(self.group(vec![sizes, arena], |bound| {
            let entries = [launches.window(), bound[1].resource()];
            bind(gpu, 0, entries)
        }))
    }

    /// Bindings of the parameters in quads, and of a flat vector beside them.
    pub(super) fn ordered(&mut self, gpu: &Gpu, client: &Client, ordered: Bound) -> Option<wgpu::BindGroup> {
        let packed = Bound::of(client, &self.packed.handle)?;
        Some(self.group(vec![packed, ordered], |bound| {
            bind(gpu, 1, [bound[0].resource(), bound[1].resource()])
        }))
    }

    /// Bindings of what belongs to one microbatch.
    pub(super) fn of_batch(&mut self, gpu: &Gpu, bound: Vec<Bound>) -> wgpu::BindGroup {
        self.group(bound, |bound| bind(gpu, 2, bound.iter().map(Bound::resource)))
    }

    fn group(&mut self, bound: Vec<Bound>, make: impl FnOnce(&[Bound]) -> wgpu::BindGroup) -> wgpu::BindGroup {
        if let Some((_, group)) = self.groups.iter().find(|(known, _)| *known == bound) {
            return group.clone();
        }
        if self.groups.len() >= MOST_GROUPS {
            self.groups.remove(0);
        }
        let group = make(&bound);
        self.groups.push((bound, group.clone()));
        group
    }
}

fn bind<'a>(
    gpu: &Gpu,
    which: usize,
    resources: impl IntoIterator<Item = wgpu::BindingResource<'a>>,
) -> wgpu::BindGroup {
    let entries: Vec<_> = (0..)
        .zip(resources)
        .map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource })
        .collect();
    gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &gpu.layouts[which],
        entries: &entries,
    })
}
