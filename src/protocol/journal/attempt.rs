//! One line for each lane's attempt at an update, with everything that was counted.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::Place;
use crate::{
    batch::{ConventionId, Counters, ExampleId, Faults, Unit, scaler::ScalerError},
    protocol::{Apart, BatchNormRow, LaneRow, MemoryRow, Outcome, ReplicaSpread, ScaleRow},
};

#[derive(Serialize)]
struct Attempt<'a> {
    kind: &'static str,
    lane: usize,
    convention: ConventionId,
    faults: Faults,
    group: u64,
    epoch: u32,
    partial: bool,
    outcome: &'static str,
    applied: bool,
    refusal: Option<&'static str>,
    loss_sum: f64,
    loss_supervised_tokens: u64,
    loss_token_weighted: Option<f64>,
    sum_of_microbatch_means: f64,
    microbatch_means: u64,
    loss_mean_of_means: Option<f64>,
    logged_loss: f64,
    gradient_norm: f64,
    clip_norms: &'a [f64],
    scale: Option<ScaleRow>,
    learning_rate: f64,
    batch_norm: Option<&'a BatchNormRow>,
    #[serde(flatten)]
    counts: Map<String, Value>,
    parameter_checksums: Option<[String; 3]>,
    apart_from_first_lane: Option<&'a Apart>,
    replicas_in_step: bool,
    largest_replica_difference: Option<f64>,
    dropped_example_ids: &'a [ExampleId],
    elapsed_ms: f64,
    memory: Option<&'a MemoryRow>,
}

pub(super) fn line(place: Place<'_>, numbers: &LaneRow) -> String {
    let row = place.row;
    let parted = match numbers.replicas {
        ReplicaSpread::InStep => None,
        ReplicaSpread::Parted { largest } => Some(largest),
    };
    let (outcome, refusal) = told(numbers.outcome);
    let attempt = Attempt {
        kind: "attempt",
        lane: place.lane,
        convention: place.rule.convention,
        faults: place.rule.faults,
        group: row.plan.number,
        epoch: row.plan.epoch,
        partial: row.plan.partial,
        outcome,
        applied: numbers.outcome == Outcome::Applied,
        refusal,
        loss_sum: numbers.loss.loss_sum,
        loss_supervised_tokens: numbers.loss.supervised,
        loss_token_weighted: numbers.loss.token_weighted(),
        sum_of_microbatch_means: numbers.loss.sum_of_means,
        microbatch_means: numbers.loss.means,
        loss_mean_of_means: numbers.loss.mean_of_means(),
        logged_loss: numbers.logged_loss,
        gradient_norm: numbers.gradient_norm,
        clip_norms: &numbers.clip_norms,
        scale: numbers.scale,
        learning_rate: numbers.rate,
        batch_norm: numbers.batch_norm.as_ref(),
        counts: counts(&numbers.counters),
        parameter_checksums: numbers.checksums.map(|sums| sums.map(|sum| format!("{sum:016x}"))),
        apart_from_first_lane: numbers.apart.as_ref(),
        replicas_in_step: parted.is_none_or(|largest| largest == 0.0),
        largest_replica_difference: parted,
        dropped_example_ids: &row.dropped,
        elapsed_ms: row.elapsed_ms,
        // It is of all lanes together, so it stands once a group.
        memory: row.memory.as_ref().filter(|_| place.lane == 0),
    };
    json!(attempt).to_string()
}

fn told(outcome: Outcome) -> (&'static str, Option<&'static str>) {
    match outcome {
        Outcome::Applied => ("applied", None),
        Outcome::NoSupervisedToken => ("no_supervised_token", None),
        Outcome::NonFiniteGradient => ("non_finite_gradient", None),
        Outcome::Dropped => ("dropped", None),
        Outcome::Carried => ("carried", None),
        Outcome::Refused(error) => {
            let refusal = match error {
                ScalerError::AlreadyUnscaled => "already_unscaled",
                ScalerError::AlreadyStepped => "already_stepped",
                ScalerError::NotChecked => "not_checked",
            };
            ("refused", Some(refusal))
        }
    }
}

/// Every count under the name of its unit.
fn counts(counters: &Counters) -> Map<String, Value> {
    let named = Unit::ALL.iter().filter_map(|&unit| match json!(unit) {
        Value::String(name) => Some((name, json!(counters.get(unit)))),
        _ => None,
    });
    named.collect()
}
