//! One way of looking at bytes in use, whichever the device has.

use super::allocator;
use crate::{engine::Device, protocol::MemorySource};

/// Who counts the bytes of a device.
#[derive(Clone, Debug)]
pub enum Meter {
    /// The process's allocator: the CPU device's tensors live there.
    Allocator,
    /// The device itself.
    Device(Device),
}

impl Meter {
    /// The one for `device`; `None` where nothing counts.
    pub fn of(device: &Device) -> Option<Self> {
        if device.memory_pool_usage().is_some() {
            return Some(Self::Device(device.clone()));
        }
        allocator::in_use().map(|_| Self::Allocator)
    }

    /// Which it is.
    pub fn source(&self) -> MemorySource {
        match self {
            Self::Allocator => MemorySource::Allocator,
            Self::Device(_) => MemorySource::Device,
        }
    }

    /// Bytes in use now; `None` where a device stopped answering.
    pub fn in_use(&self) -> Option<u64> {
        match self {
            Self::Allocator => allocator::in_use(),
            Self::Device(device) => device.memory_pool_usage().map(|usage| usage.bytes_in_use),
        }
    }

    /// Bytes held, used or not; `None` where that cannot be asked.
    pub fn reserved(&self) -> Option<u64> {
        match self {
            Self::Allocator => allocator::reserved(),
            Self::Device(device) => device.memory_pool_usage().map(|usage| usage.bytes_reserved),
        }
    }

    /// Starts a peak. A device has none: its peaks are the largest of the moments looked at.
    pub fn mark(&self) {
        if matches!(self, Self::Allocator) {
            allocator::mark();
        }
    }

    /// The most in use since the mark, which found `before` and now finds `after`.
    pub fn peak(&self, before: u64, after: u64) -> u64 {
        let looked_at = before.max(after);
        match self {
            Self::Allocator => allocator::peak().max(looked_at),
            Self::Device(_) => looked_at,
        }
    }
}
