//! Shared by the tests: where goldens lie, and how Setups are drawn.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::missing_panics_doc,
    reason = "each test binary uses a part of it"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a broken file must fail its test at once"
)]

pub mod golden;
pub mod setups;

/// Failures are reported whole, so no file of past ones is kept.
pub fn config(cases: u32) -> proptest::test_runner::Config {
    proptest::test_runner::Config {
        cases,
        failure_persistence: None,
        ..Default::default()
    }
}
