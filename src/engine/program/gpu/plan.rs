//! A list as launches: which shader, over how many workgroups, with which sizes and offsets.

use super::{
    arena::Arena,
    kernel::Kernel,
    pack::{self, Packed},
    side::small,
    weights,
};
use crate::engine::program::{Op, Program, Region, WeightGradient};

/// Launches begin to read their sizes at multiples of this many bytes, which every WebGPU device takes.
const STEP_BYTES: usize = 256;

/// The most bytes of sizes that one launch reads; as many are bound for each.
pub(super) const WINDOW_BYTES: usize = 16_384;

/// The most jobs of one launch, as `pack.wgsl` and `weights.wgsl` say.
const MOST_JOBS: usize = 200;

/// The most workgroups of one launch that every WebGPU device takes along a dimension.
const MOST_GROUPS: usize = 65_535;

/// One launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) kernel: Kernel,
    /// Where its sizes begin, in bytes.
    pub(super) sizes: u32,
    pub(super) groups: (u32, u32),
}

/// All launches of a list.
pub(super) struct Plan {
    /// Lays the parameters out.
    pub(super) pack: Vec<Step>,
    pub(super) forward: Vec<Step>,
    pub(super) backward: Vec<Step>,
    /// Gradients of parameters; the second adds to what is there.
    pub(super) weights: [Vec<Step>; 2],
    /// Sizes of all launches, with room after the last for what is bound beside it.
    pub(super) sizes: Vec<u32>,
    /// Quads of the working memory.
    pub(super) arena: usize,
    /// Quads of the parameters once they are laid out.
    pub(super) packed: usize,
}

impl Plan {
    /// The most workgroups that a launch has along a dimension.
    pub(super) fn most_groups(&self) -> u32 {
        let [fresh, adding] = &self.weights;
        let all = [&self.pack, &self.forward, &self.backward, fresh, adding];
        let groups = all.into_iter().flatten().map(|step| step.groups.0.max(step.groups.1));
        groups.max().unwrap_or(0)
    }

    /// Where a launch of gradients of parameters reads its factor, in bytes.
    pub(super) fn factor_of(step: &Step) -> u64 {
        u64::from(step.sizes) + 12
    }
}

/// What launches of one list share while it is written.
pub(super) struct Writer<'a> {
    pub(super) program: &'a Program,
    pub(super) arena: Arena,
    pub(super) packed: Packed,
    sizes: Vec<u32>,
}

/// The launches of `program`.
pub(super) fn write(program: &Program) -> Plan {
    let arena = Arena::new(program);
    let packed = Packed::new(program, &arena);
    let mut writer = Writer {
        program,
        arena,
        packed,
        sizes: Vec::new(),
    };
    let pack = writer.pack();
    let mut forward: Vec<Step> = program.forward.iter().filter_map(|op| writer.forward(op)).collect();
    forward.push(writer.totals());
    let backward = program.backward.iter().flat_map(|op| writer.backward(op)).collect();
    let gradients: Vec<&WeightGradient> = program.backward.iter().filter_map(gradients).flatten().collect();
    let weights = [false, true].map(|adds| writer.weights(&gradients, adds));
    let Writer {
        arena,
        packed,
        mut sizes,
        ..
    } = writer;
    sizes.resize(sizes.len() + WINDOW_BYTES / 4, 0);
    Plan {
        pack,
        forward,
        backward,
        weights,
        sizes,
        arena: arena.quads,
        packed: packed.quads,
    }
}

fn gradients(op: &Op) -> Option<&Vec<WeightGradient>> {
    match op {
        Op::Weights(gradients) => Some(gradients),
        _ => None,
    }
}

impl Writer<'_> {
    pub(super) fn at(&self, region: Region) -> u32 {
        small(self.arena.at(region))
    }

    /// A launch with these sizes.
    pub(super) fn step(&mut self, kernel: Kernel, groups: (usize, usize), sizes: &[u32]) -> Step {
        let first = small(self.sizes.len() * 4);
        self.sizes.extend_from_slice(sizes);
        let filled = self.sizes.len().next_multiple_of(STEP_BYTES / 4);
        self.sizes.resize(filled, 0);
        Step {
            kernel,
            sizes: first,
            groups: (small(groups.0), small(groups.1)),
        }
    }

    /// A launch of at least `threads` threads.
    pub(super) fn line(&mut self, kernel: Kernel, threads: usize, sizes: &[u32]) -> Step {
        self.step(kernel, (threads.div_ceil(kernel.threads()), 1), sizes)
    }

    fn pack(&mut self) -> Vec<Step> {
        let mut jobs = std::mem::take(&mut self.packed.jobs);
        let quads = |job: &pack::Job| job[2];
        let launches = cut(&mut jobs, Kernel::Pack, quads).into_iter().map(|jobs| {
            let head = [small(jobs.len()), 0, 0, 0];
            let groups = number(jobs, Kernel::Pack, quads, |job, group| job[0] = group);
            self.step(Kernel::Pack, (groups, 1), &[&head[..], jobs.as_flattened()].concat())
        });
        launches.collect()
    }

    fn totals(&mut self) -> Step {
        let sizes = [small(self.program.positions), self.at(self.program.losses)];
        self.line(Kernel::Totals, 1, &sizes)
    }

    fn weights(&mut self, gradients: &[&WeightGradient], adds: bool) -> Vec<Step> {
        let mut jobs: Vec<weights::Job> = gradients
            .iter()
            .flat_map(|gradient| weights::jobs(gradient, &self.arena))
            .collect();
        let threads = |job: &weights::Job| job[2];
        let launches = cut(&mut jobs, Kernel::Weights, threads).into_iter().map(|jobs| {
            let head = [
                small(self.program.positions),
                small(self.program.columns),
                u32::from(adds),
                1.0f32.to_bits(),
                small(jobs.len()),
                0,
                0,
                0,
            ];
            let groups = number(jobs, Kernel::Weights, threads, |job, group| job[1] = group);
            self.step(Kernel::Weights, (groups, 1), &[&head[..], jobs.as_flattened()].concat())
        });
        launches.collect()
    }
}

/// Gives each of `jobs` workgroups of its own; says how many there are.
fn number<J>(jobs: &mut [J], kernel: Kernel, threads: impl Fn(&J) -> u32, begin: impl Fn(&mut J, u32)) -> usize {
    let mut groups = 0;
    for job in jobs {
        begin(job, small(groups));
        groups += groups_of(kernel, threads(job));
    }
    groups
}

/// Cuts `jobs` into launches, none of which has more of them or more workgroups than one can have.
fn cut<J>(mut jobs: &mut [J], kernel: Kernel, threads: impl Fn(&J) -> u32) -> Vec<&mut [J]> {
    let mut launches = Vec::new();
    while !jobs.is_empty() {
        let mut groups = 0;
        let fits = jobs.iter().take(MOST_JOBS).take_while(|job| {
            groups += groups_of(kernel, threads(job));
            groups <= MOST_GROUPS
        });
        let count = fits.count().max(1);
        let (launch, rest) = std::mem::take(&mut jobs).split_at_mut(count);
        launches.push(launch);
        jobs = rest;
    }
    launches
}

fn groups_of(kernel: Kernel, threads: u32) -> usize {
    usize::try_from(threads).unwrap_or_default().div_ceil(kernel.threads())
}
