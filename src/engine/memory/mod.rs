//! Bytes, measured: by the allocator on the CPU device, by the device's own account on WebGPU.

pub mod allocator;
mod ledger;
mod meter;
mod settle;

pub use allocator::CountingAllocator;
pub use ledger::Ledger;
pub use meter::Meter;
pub use settle::free_abandoned_graphs;
