//! The worker that trains on the CPU device.

mod wiring;

use microbatch_lab::engine::CountingAllocator;

/// The CPU device's tensors are the worker's own memory.
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() {
    wiring::start();
}
