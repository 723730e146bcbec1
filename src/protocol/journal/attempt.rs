//! One line for each attempt of a lane at an update, with everything that was counted. A loop that steps inside a group makes more than
//! one; what is known of the whole group only stands in the line of the last.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::Place;
use crate::{
    batch::{ConventionId, Counters, ExampleId, Faults, Pass, Unit, scaler::ScalerError},
    protocol::{Apart, AttemptRow, BatchNormRow, LaneRow, MemoryRow, Outcome, ReplicaSpread, ScaleRow},
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
    after_index: Option<u32>,
    ends_group: bool,
    outcome: &'static str,
    applied: bool,
    refusal: Option<&'static str>,
    gradient_norm: f64,
    clip_norms: &'a [f64],
    scale: Option<ScaleRow>,
    learning_rate: f64,
    #[serde(flatten)]
    counts: Map<String, Value>,
    #[serde(flatten)]
    of_group: OfGroup<'a>,
}

/// What is known once the group has ended.
#[derive(Default, Serialize)]
struct OfGroup<'a> {
    loss_sum: Option<f64>,
    loss_supervised_tokens: Option<u64>,
    loss_token_weighted: Option<f64>,
    sum_of_microbatch_means: Option<f64>,
    microbatch_means: Option<u64>,
    loss_mean_of_means: Option<f64>,
    logged_loss: Option<f64>,
    batch_norm: Option<&'a BatchNormRow>,
    parameter_checksums: Option<[String; 3]>,
    apart_from_first_lane: Option<&'a Apart>,
    replicas_in_step: Option<bool>,
    largest_replica_difference: Option<f64>,
    dropped_example_ids: &'a [ExampleId],
    elapsed_ms: Option<f64>,
    memory: Option<&'a MemoryRow>,
}

pub(super) fn lines(place: Place<'_>, numbers: &LaneRow) -> Vec<String> {
    let inner = numbers.inner.iter().map(|attempt| inside(place, attempt));
    let attempts = inner.chain([last(place, numbers)]);
    attempts.map(|attempt| json!(attempt).to_string()).collect()
}

fn inside<'a>(place: Place<'_>, attempt: &'a AttemptRow) -> Attempt<'a> {
    let (outcome, refusal) = told(attempt.outcome);
    Attempt {
        kind: "attempt",
        lane: place.lane,
        convention: place.rule.convention,
        faults: place.rule.faults,
        group: place.row.plan.number,
        epoch: place.row.plan.epoch,
        partial: place.row.plan.partial,
        after_index: Some(attempt.after_index),
        ends_group: false,
        outcome,
        applied: attempt.outcome == Outcome::Applied,
        refusal,
        gradient_norm: attempt.gradient_norm,
        clip_norms: &attempt.clip_norms,
        scale: attempt.scale,
        learning_rate: attempt.rate,
        counts: counts(&attempt.counters),
        of_group: OfGroup::default(),
    }
}

fn last<'a>(place: Place<'a>, numbers: &'a LaneRow) -> Attempt<'a> {
    let (outcome, refusal) = told(numbers.outcome);
    Attempt {
        kind: "attempt",
        lane: place.lane,
        convention: place.rule.convention,
        faults: place.rule.faults,
        group: place.row.plan.number,
        epoch: place.row.plan.epoch,
        partial: place.row.plan.partial,
        after_index: last_index(place, numbers.outcome),
        ends_group: true,
        outcome,
        applied: numbers.outcome == Outcome::Applied,
        refusal,
        gradient_norm: numbers.gradient_norm,
        clip_norms: numbers.last_clip_norms(),
        scale: numbers.scale,
        learning_rate: numbers.rate,
        counts: counts(&numbers.counters),
        of_group: of_group(place, numbers),
    }
}

fn of_group<'a>(place: Place<'a>, numbers: &'a LaneRow) -> OfGroup<'a> {
    let parted = match numbers.replicas {
        ReplicaSpread::InStep => None,
        ReplicaSpread::Parted { largest } => Some(largest),
    };
    OfGroup {
        loss_sum: Some(numbers.loss.loss_sum),
        loss_supervised_tokens: Some(numbers.loss.supervised),
        loss_token_weighted: numbers.loss.token_weighted(),
        sum_of_microbatch_means: Some(numbers.loss.sum_of_means),
        microbatch_means: Some(numbers.loss.means),
        loss_mean_of_means: numbers.loss.mean_of_means(),
        logged_loss: Some(numbers.logged_loss),
        batch_norm: numbers.batch_norm.as_ref(),
        parameter_checksums: numbers.checksums.map(|sums| sums.map(|sum| format!("{sum:016x}"))),
        apart_from_first_lane: numbers.apart.as_ref(),
        replicas_in_step: Some(parted.is_none_or(|largest| largest == 0.0)),
        largest_replica_difference: parted,
        dropped_example_ids: &place.row.dropped,
        elapsed_ms: Some(place.row.elapsed_ms),
        // It is of all lanes together, so it stands once a group.
        memory: place.row.memory.as_ref().filter(|_| place.lane == 0),
    }
}

/// The accumulation index that a group's last attempt followed; `None` where there was no attempt with a gradient.
fn last_index(place: Place<'_>, outcome: Outcome) -> Option<u32> {
    match outcome {
        Outcome::NoSupervisedToken | Outcome::Dropped | Outcome::Carried => None,
        Outcome::Applied | Outcome::NonFiniteGradient | Outcome::Refused(_) => match place.rule.convention().pass {
            Pass::Whole => Some(0),
            Pass::AsSplit => place.row.plan.microbatches.iter().map(|k| k.facts.index).max(),
        },
    }
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
