//! Hand-written WGSL, where the stock operations would take many launches or wait at barriers.
//!
//! Each kernel lies in `shaders/`, one entry point a file, and has a twin of stock operations that it is compared with.

mod adamw;
pub mod half;
pub(super) mod import;
mod launch;
pub mod layers;
mod record;
pub mod token_loss;

use burn::tensor::Device;

/// Whether hand-written kernels run on `device`: on WebGPU they do.
pub fn run_on(device: &Device) -> bool {
    #[cfg(feature = "cpu")]
    {
        device.clone().without_autodiff() != Device::flex()
    }
    #[cfg(not(feature = "cpu"))]
    {
        let _ = device;
        true
    }
}
