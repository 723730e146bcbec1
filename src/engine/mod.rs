//! Burn, and nothing but burn: the device, the models, and lanes that train side by side on the same examples.
//!
//! The room knows coefficients, not conventions; it never blocks on the device, since a browser forbids that: every value leaves it
//! through one asynchronous readback. It speaks `protocol` and knows nothing of pages or workers.
//!
//! How a host drives it: [`device`] opens a device, [`self_check`] proves it, [`WarmUp`] compiles its kernels piece by piece,
//! [`Session::new`] builds a run, and [`Session::advance`] does one small thing at a time until it says [`Advance::Finished`].

pub mod adamw;
pub mod check;
pub mod checksum;
pub mod clip;
mod contribution;
pub mod device;
pub mod fit;
pub mod gradient;
pub mod init;
#[cfg(feature = "gpu")]
pub mod kernels;
pub mod lane;
pub mod loss;
pub mod memory;
pub mod microbatch;
pub mod model;
pub mod numerics;
pub mod optimizer;
pub mod preflight;
pub mod probe;
pub mod program;
pub mod readback;
pub mod replica;
pub mod running;
pub mod session;
pub mod settings;
pub mod start;
pub mod update;
pub mod warm_up;

pub use burn::tensor::Device;
pub use check::self_check;
pub use fit::fit;
pub use memory::CountingAllocator;
pub use preflight::preflight;
pub use session::{Advance, Session};
pub use warm_up::WarmUp;
