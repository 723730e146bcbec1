//! What a device is, and whether it computes rightly.

use serde::{Deserialize, Serialize};

/// The device a worker opened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceReport {
    /// `cpu` or `webgpu`.
    pub kind: String,
    /// Present for WebGPU.
    pub adapter: Option<AdapterFacts>,
    /// Milliseconds to open it.
    pub open_ms: f64,
}

/// What WebGPU says of its adapter. Empty strings where it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AdapterFacts {
    /// Name or description.
    pub name: String,
    /// Vendor.
    pub vendor: String,
    /// Architecture.
    pub architecture: String,
    /// Driver, where known.
    pub driver: String,
    /// The API underneath, e.g. `BrowserWebGpu`, `Vulkan`.
    pub backend: String,
    /// A software adapter: `isFallbackAdapter`, SwiftShader, llvmpipe or WARP.
    pub software: bool,
    /// Smallest and largest subgroup, where known.
    pub subgroup: Option<(u32, u32)>,
    /// Largest buffer in bytes.
    pub max_buffer_size: u64,
    /// Largest storage binding in bytes.
    pub max_storage_binding: u64,
    /// Most invocations in one workgroup.
    pub max_workgroup_invocations: u32,
    /// Whether f16 in shaders is offered.
    pub shader_f16: bool,
}

/// One small group computed on the device and by the f64 oracle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SelfCheck {
    /// Relative L2 error of the whole gradient.
    pub gradient_error: f64,
    /// Relative error of the loss.
    pub loss_error: f64,
    /// Both must be at most this.
    pub tolerance: f64,
    /// Milliseconds it took, kernel compilation included.
    pub took_ms: f64,
}

impl SelfCheck {
    /// Whether the device may be used. False for NaN.
    pub fn passed(&self) -> bool {
        self.gradient_error <= self.tolerance && self.loss_error <= self.tolerance
    }
}
