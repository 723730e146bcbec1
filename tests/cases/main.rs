//! Public reports of loops that counted wrongly: for each, a convention, a fault or a plan of the lab gives the number that was
//! reported, and the right one where the report has it. `reports.json` holds what was given, what was seen and where it was written.
//!
//! Not given by this code, and why:
//!
//! - `scaled-by-five`: the factor of 5.00 came from a number of devices that the report does not give; m = 6 and A = 1 imply 1. What
//!   the lab can show is that one factor multiplies loss and gradient norm alike, which [`loss_scale::by_one_factor`] does.
//! - `average-over-A-not-D`: the losses belong to a fixture of 16 examples that is not in the report. [`loss_scale::replica_means`]
//!   shows the kind of difference, with its sign decided by which replica has the harder examples.
//! - `warmup-in-another-unit`: the lab has no scheduler that steps once a process. Its horizon in microbatches is the lab's own;
//!   the 8 steps an update are the test's.
//! - `retained-graphs`: bytes are measured by the engine, on a device; here only the row of the fault is held.
//!
//! `configs.json` holds configurations in the dialects of trainers. The lab does not read those yet, so their texts, `must_say` and
//! `must_ask` are not tested; the plans they must come to are, as far as splits and topologies go ([`configs`]).
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::expect_used, reason = "a case that lacks a number fails its test")]

mod configs;
mod count;
mod loops;
mod loss_scale;
mod partial;

use std::collections::BTreeSet;

use serde_json::Value;

/// One report.
struct Case(Value);

/// What a case's test is given.
type Test = fn(&Case);

/// Every case by its ID. One that is missing here, or here without being in the file, fails.
const TESTS: &[(&str, Test)] = &[
    ("sum-over-accumulation", loss_scale::never_divided),
    ("scaled-by-five", loss_scale::by_one_factor),
    ("double-division-in-log", loss_scale::divided_in_the_log),
    ("grows-with-A", loss_scale::grows_with_a),
    ("average-over-A-not-D", loss_scale::replica_means),
    ("dataparallel-over-n", loss_scale::mean_of_shares),
    ("all-masked-microbatch", loss_scale::all_masked),
    ("total-batch-256", count::tensor_parallel),
    ("context-parallel-counted", count::context_parallel),
    ("sequence-parallel-8", count::sequence_parallel),
    ("assertion-256", count::world_of_one),
    ("nanogpt-global-A", count::global_a),
    ("epochs-that-vanish", count::epochs_that_vanish),
    ("sampler-duplicates", count::duplicates),
    ("last-four-of-260", partial::nominal_a),
    ("two-denominators", partial::two_denominators),
    ("ten-left-over", partial::carried),
    ("never-updates", partial::dropped),
    ("sync-on-the-first", loops::sync_on_the_first),
    ("clip-each-microbatch", loops::clip_each_microbatch),
    ("unscale-twice", loops::unscale_twice),
    ("scheduler-after-skip", loops::scheduler_after_skip),
    ("warmup-in-another-unit", loops::warmup_in_another_unit),
    ("zero-at-the-start", loops::zero_at_the_start),
    ("retained-graphs", loops::retained_graphs),
];

fn read(name: &str) -> Value {
    let path = format!("{}/tests/cases/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn cases() -> Vec<Case> {
    let file = read("reports.json");
    assert_eq!(file["format"], "cases-1");
    file["cases"]
        .as_array()
        .expect("cases")
        .iter()
        .cloned()
        .map(Case)
        .collect()
}

impl Case {
    fn id(&self) -> &str {
        self.0["id"].as_str().expect("an ID")
    }

    /// Where it was reported.
    fn source(&self) -> &str {
        self.0["source"].as_str().expect("a source")
    }

    fn at(&self, pointer: &str) -> &Value {
        self.0
            .pointer(pointer)
            .unwrap_or_else(|| panic!("{} has no {pointer}", self.id()))
    }

    fn number(&self, pointer: &str) -> f64 {
        let value = self.at(pointer);
        value.as_f64().unwrap_or_else(|| panic!("{}: {value}", self.id()))
    }

    fn numbers(&self, pointer: &str) -> Vec<f64> {
        let list = self.at(pointer).as_array().expect("a list");
        list.iter().map(|value| value.as_f64().expect("a number")).collect()
    }

    fn whole(&self, pointer: &str) -> u32 {
        let value = self.at(pointer).as_u64();
        value
            .and_then(|n| u32::try_from(n).ok())
            .unwrap_or_else(|| panic!("{} {pointer}", self.id()))
    }

    /// A row of one of the lab's tables must name this report.
    fn is_named_by(&self, sources: &[&str]) {
        let found = self.source().split(", ").next().unwrap_or_default();
        assert!(sources.contains(&found), "{}: {found} is not in {sources:?}", self.id());
    }
}

#[test]
fn every_report_comes_out_of_the_labs_own_code() {
    let cases = cases();
    for case in &cases {
        let test = TESTS.iter().find(|(id, _)| *id == case.id());
        let (_, test) = test.unwrap_or_else(|| panic!("{} has no test", case.id()));
        test(case);
    }
    let tested: BTreeSet<&str> = TESTS.iter().map(|(id, _)| *id).collect();
    let given: BTreeSet<&str> = cases.iter().map(Case::id).collect();
    assert_eq!(tested, given, "a test without a case, or a case twice");
    assert_eq!(given.len(), cases.len());
}
