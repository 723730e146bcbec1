//! The wire between page and worker: postcard bytes over `postMessage`, the worker's birth and death, and the worker's loop.
//!
//! The loop ([`pilot`]) and the batching ([`outbox`]) are plain code over two small traits ([`trainer`], [`pilot::World`]), so that they
//! are tested without a browser; [`client`] and [`host`] are their browser halves.

#[cfg(feature = "ui")]
pub mod adapter;
#[cfg(any(feature = "ui", feature = "bench"))]
pub mod client;
#[cfg(feature = "worker")]
pub mod host;
#[cfg(any(feature = "ui", feature = "worker"))]
pub mod navigator;
pub mod outbox;
pub mod pilot;
mod run;
pub mod trainer;
pub mod wire;

#[cfg(feature = "ui")]
pub use adapter::choose;
#[cfg(any(feature = "ui", feature = "bench"))]
pub use client::Client;
