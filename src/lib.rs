//! Microbatch Lab: make the microbatch smaller without losing count of the updates.
//!
//! A library of rooms. Arrows between them go one way only (see `ARCHITECTURE.md`); `tests/architecture.rs` holds them.

pub mod batch;
pub mod bridge;
pub mod chart;
pub mod data;
pub mod lab;
pub mod protocol;
pub mod setup;

#[cfg(any(feature = "cpu", feature = "gpu"))]
pub mod engine;
#[cfg(feature = "ui")]
pub mod ui;
