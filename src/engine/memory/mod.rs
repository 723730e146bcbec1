//! Bytes, measured: by the allocator on the CPU device, by the device's own account on WebGPU.

pub mod allocator;
mod ledger;
mod meter;

pub use allocator::CountingAllocator;
pub use ledger::Ledger;
pub use meter::Meter;
