//! Opening a device and saying what it is.

use super::Device;
use crate::protocol::{DeviceReport, Fault};

/// The CPU device: pure Rust, in this process.
#[cfg(feature = "cpu")]
pub fn open_cpu() -> (Device, DeviceReport) {
    unimplemented!("being written")
}

/// WebGPU, software adapters included; the report says which it is.
#[cfg(feature = "gpu")]
pub async fn open_gpu() -> Result<(Device, DeviceReport), Fault> {
    unimplemented!("being written")
}

/// The device that this build is for: the CPU device where it is built in, else WebGPU.
pub async fn open() -> Result<(Device, DeviceReport), Fault> {
    unimplemented!("being written")
}
