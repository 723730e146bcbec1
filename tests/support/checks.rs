//! A pre-flight check of a setup, and which of its lines fail.

use std::collections::BTreeSet;

use microbatch_lab::{
    engine::{Device, preflight},
    protocol::{CheckKind, PreflightReport},
    setup::{Key, Setup},
};

use super::short_run;

/// Lengths that differ, so that a wrong denominator shows.
pub(crate) const UNEVEN: (Key, &str) = (Key::Lengths, "two_humped");

pub(crate) fn setup(changes: &[(Key, &str)]) -> Setup {
    let sgd = [
        UNEVEN,
        (Key::Optimizer, "sgd"),
        (Key::Momentum, "0"),
        (Key::Rate, "0.1"),
    ];
    short_run::setup(&[&sgd, changes].concat())
}

pub(crate) fn report(setup: &Setup) -> PreflightReport {
    let corpus = short_run::corpus(setup);
    pollster::block_on(preflight(&Device::flex(), setup, &corpus, &async || true)).expect("a report")
}

/// Names of the checks of one lane that failed; `None` for those of all lanes.
pub(crate) fn failed(report: &PreflightReport, lane: Option<u32>) -> BTreeSet<String> {
    let of_lane = report.checks.iter().filter(|check| check.lane == lane && !check.passed);
    of_lane.map(|check| format!("{:?}", check.kind)).collect()
}

pub(crate) fn names(kinds: &[CheckKind]) -> BTreeSet<String> {
    kinds.iter().map(|kind| format!("{kind:?}")).collect()
}
