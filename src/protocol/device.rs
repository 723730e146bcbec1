//! What a device is, and whether it computes rightly.

use serde::{Deserialize, Serialize};

use super::Fault;

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

/// The device that a worker is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum DeviceKind {
    Cpu,
    WebGpu,
}

/// The device the page chose, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// Which worker is started.
    pub device: DeviceKind,
    /// Why this one.
    pub reason: ChoiceReason,
}

/// Why a device was chosen, for the line that says so.
#[derive(Clone, Debug, PartialEq)]
pub enum ChoiceReason {
    /// The person asked for it.
    Asked,
    /// WebGPU's adapter is hardware.
    Hardware {
        /// What the adapter calls itself; may be empty.
        adapter: String,
    },
    /// The browser has no WebGPU, or it is switched off.
    NoWebGpu,
    /// WebGPU is there, but gave no adapter.
    NoAdapter,
    /// WebGPU's adapter is software, slower than the CPU device.
    Software {
        /// What the adapter calls itself; may be empty.
        adapter: String,
    },
    /// The WebGPU worker was tried and failed.
    GpuFailed(Fault),
}

/// What a browser tells a page of its adapter, before any device is opened. Empty strings where it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdapterInfo {
    /// `GPUAdapterInfo.vendor`.
    pub vendor: String,
    /// `GPUAdapterInfo.architecture`.
    pub architecture: String,
    /// `GPUAdapterInfo.device`.
    pub device: String,
    /// `GPUAdapterInfo.description`.
    pub description: String,
    /// `GPUAdapterInfo.isFallbackAdapter`, or the older `GPUAdapter.isFallbackAdapter`.
    pub fallback: bool,
}

/// Names under which software adapters go, in lower case.
const SOFTWARE: &[&str] = &[
    "swiftshader",
    "llvmpipe",
    "lavapipe",
    "softpipe",
    "microsoft basic render",
    "software rasterizer",
];

/// Whether an adapter that calls itself by `texts` is software; `fallback` is what it says of itself.
///
/// ```
/// use microbatch_lab::protocol::device::is_software;
/// assert!(is_software(false, &["Google Inc.", "SwiftShader Device (LLVM 10.0.0)"]));
/// assert!(is_software(false, &["Microsoft", "WARP"]));
/// assert!(!is_software(false, &["nvidia", "ampere", "warped"]));
/// ```
pub fn is_software(fallback: bool, texts: &[&str]) -> bool {
    fallback
        || texts.iter().any(|text| {
            let text = text.to_lowercase();
            SOFTWARE.iter().any(|name| text.contains(name))
                // As a word only: it is short enough to stand inside another name.
                || text.split(|c: char| !c.is_alphanumeric()).any(|word| word == "warp")
        })
}

impl AdapterInfo {
    /// Whether it is software.
    pub fn software(&self) -> bool {
        is_software(
            self.fallback,
            &[&self.vendor, &self.architecture, &self.device, &self.description],
        )
    }

    /// What to call it on the page: the first that is not empty of description, device, vendor with architecture.
    pub fn name(&self) -> String {
        let together = format!("{} {}", self.vendor, self.architecture);
        let candidates = [self.description.trim(), self.device.trim(), together.trim()];
        candidates
            .into_iter()
            .find(|text| !text.is_empty())
            .unwrap_or_default()
            .to_owned()
    }
}

impl AdapterFacts {
    /// What the browser says of the adapter, where the device itself said nothing.
    pub fn complete(&mut self, told: &AdapterInfo) {
        self.software |= told.software();
        for (mine, theirs) in [
            (&mut self.vendor, &told.vendor),
            (&mut self.architecture, &told.architecture),
        ] {
            if mine.is_empty() {
                mine.clone_from(theirs);
            }
        }
        if self.name.is_empty() {
            self.name = told.name();
        }
    }
}

/// What the page found when it looked for WebGPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// No `navigator.gpu`.
    NoWebGpu,
    /// `requestAdapter` gave none.
    NoAdapter,
    /// An adapter.
    Adapter(AdapterInfo),
}

impl Chosen {
    /// The rule of [`super::DeviceChoice::Auto`]: WebGPU where the adapter is hardware, else the CPU device.
    pub fn auto(found: &Found) -> Self {
        let (device, reason) = match found {
            Found::NoWebGpu => (DeviceKind::Cpu, ChoiceReason::NoWebGpu),
            Found::NoAdapter => (DeviceKind::Cpu, ChoiceReason::NoAdapter),
            Found::Adapter(info) if info.software() => {
                (DeviceKind::Cpu, ChoiceReason::Software { adapter: info.name() })
            }
            Found::Adapter(info) => (DeviceKind::WebGpu, ChoiceReason::Hardware { adapter: info.name() }),
        };
        Self { device, reason }
    }

    /// What the person asked for.
    pub fn asked(device: DeviceKind) -> Self {
        Self {
            device,
            reason: ChoiceReason::Asked,
        }
    }
}
