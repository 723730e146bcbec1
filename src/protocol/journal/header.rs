//! The first line.

use serde_json::{Value, json};

use super::JOURNAL_VERSION;
use crate::{
    protocol::{DeviceReport, RunFacts},
    setup::{Draft, Setup, file},
};

/// The first line: the Setup by its keys, what was built of it, and on which device.
pub fn header(setup: &Setup, facts: &RunFacts, device: &DeviceReport) -> String {
    let keys: Value = serde_json::from_str(&file::to_json(&Draft::from(setup))).unwrap_or(Value::Null);
    json!({
        "kind": "run",
        "journal": JOURNAL_VERSION,
        "setup": keys,
        "parameters": facts.parameters,
        "vocabulary": facts.vocabulary,
        "examples": facts.examples,
        "groups_per_epoch": facts.groups_per_epoch,
        "dropped_per_epoch": facts.dropped_per_epoch,
        "dropped_example_ids": facts.dropped,
        "repeated_per_epoch": facts.repeated_per_epoch,
        "memory": facts.memory,
        "device": device,
    })
    .to_string()
}
