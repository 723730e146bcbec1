//! Opening a device and saying what it is.

use web_time::Instant;

use super::Device;
#[cfg(feature = "gpu")]
use crate::protocol::{AdapterFacts, device::is_software};
use crate::protocol::{DeviceReport, Fault};

/// The CPU device: pure Rust, in this process.
#[cfg(feature = "cpu")]
pub fn open_cpu() -> (Device, DeviceReport) {
    let began = Instant::now();
    let device = Device::flex();
    let report = DeviceReport {
        kind: "cpu".to_owned(),
        adapter: None,
        open_ms: milliseconds(began),
    };
    (device, report)
}

/// WebGPU, software adapters included; the report says which it is.
#[cfg(feature = "gpu")]
pub async fn open_gpu() -> Result<(Device, DeviceReport), Fault> {
    let began = Instant::now();
    let opened = Device::wgpu_options().init_with_setup_async().await;
    let (device, setup) = opened.map_err(|error| Fault::NoWebGpu {
        reason: error.to_string(),
    })?;
    super::program::gpu::opened(&device, &setup.device, &setup.queue);
    let adapter = Some(facts(&setup.adapter));
    Ok((
        device,
        DeviceReport {
            kind: "webgpu".to_owned(),
            adapter,
            open_ms: milliseconds(began),
        },
    ))
}

/// The device that this build is for: the CPU device where it is built in, else WebGPU.
#[cfg_attr(
    feature = "cpu",
    expect(clippy::unused_async, reason = "one signature for both devices")
)]
pub async fn open() -> Result<(Device, DeviceReport), Fault> {
    #[cfg(feature = "cpu")]
    return Ok(open_cpu());
    #[cfg(all(feature = "gpu", not(feature = "cpu")))]
    return open_gpu().await;
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

#[cfg(feature = "gpu")]
fn facts(adapter: &wgpu::Adapter) -> AdapterFacts {
    let (info, limits) = (adapter.get_info(), adapter.limits());
    AdapterFacts {
        // A browser says `isFallbackAdapter`, which wgpu reports as a CPU; names give the others away.
        software: is_software(
            info.device_type == wgpu::DeviceType::Cpu,
            &[&info.name, &info.driver, &info.driver_info],
        ),
        name: info.name,
        // A browser tells the vendor only in words, which wgpu does not pass on; natively it is a PCI number.
        vendor: if info.vendor == 0 {
            String::new()
        } else {
            format!("{:#06x}", info.vendor)
        },
        architecture: String::new(),
        driver: [info.driver, info.driver_info].join(" ").trim().to_owned(),
        backend: format!("{:?}", info.backend),
        subgroup: (info.subgroup_max_size > 0).then_some((info.subgroup_min_size, info.subgroup_max_size)),
        max_buffer_size: limits.max_buffer_size,
        max_storage_binding: limits.max_storage_buffer_binding_size,
        max_workgroup_invocations: limits.max_compute_invocations_per_workgroup,
        shader_f16: adapter.features().contains(wgpu::Features::SHADER_F16),
    }
}
