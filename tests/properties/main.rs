//! What holds for every split, every data set and every convention.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::expect_used, reason = "strategies and helpers fail their test at once")]
#![allow(clippy::float_cmp, reason = "a peak and a zero are exact")]

#[path = "../support/mod.rs"]
mod support;

mod coefficients;
mod conventions;
mod faults;
mod loop_parts;
mod numbers;
mod plan;
mod replicas;
mod schedules;
