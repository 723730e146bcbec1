//! The quantities of [`super::communication`], each read from a lane's last group.

use super::{lane_table::Line, loss_words::backpropagated};
use crate::{
    batch::{Unit, clip::coefficient},
    lab::{Recording, closeness::relative_l2},
    protocol::{BatchNormRow, GroupRow, ReplicaSpread},
    ui::{
        format,
        text::{Locale, td_string},
    },
};

/// So many norms, or features, are written out.
const WRITTEN: usize = 4;

/// All-reduces and replicas.
pub const EXCHANGE: &[Line] = &[
    Line {
        label: |l| td_string!(l, communication.total),
        read: |_, _, row, lane| total(row, lane, Unit::AllReduces).map_or_else(nothing, format::count),
    },
    Line {
        label: |l| td_string!(l, communication.group),
        read: |_, recording, _, lane| in_last(recording, lane, Unit::AllReduces).map_or_else(nothing, format::count),
    },
    Line {
        label: |l| td_string!(l, communication.per_update),
        read: |_, _, row, lane| per_update(row, lane).map_or_else(nothing, format::value),
    },
    Line {
        label: |l| td_string!(l, communication.bytes),
        read: |locale, _, row, lane| {
            total(row, lane, Unit::AllReducedBytes).map_or_else(nothing, |n| format::bytes(locale, n))
        },
    },
    Line {
        label: |l| td_string!(l, communication.group_bytes),
        read: |locale, recording, _, lane| {
            in_last(recording, lane, Unit::AllReducedBytes).map_or_else(nothing, |n| format::bytes(locale, n))
        },
    },
    Line {
        label: |l| td_string!(l, compare.replicas),
        read: replicas,
    },
];

/// What the clip saw.
pub const CLIP: &[Line] = &[Line {
    label: |l| td_string!(l, communication.norms),
    read: clip,
}];

/// The logged loss beside the one that was back-propagated.
pub const LOG: &[Line] = &[
    Line {
        label: |l| td_string!(l, communication.logged),
        read: |_, _, row, lane| {
            let lane = row.lanes.get(lane);
            lane.map_or_else(nothing, |lane| format::loss(lane.logged_loss))
        },
    },
    Line {
        label: |l| td_string!(l, communication.trained),
        read: |locale, recording, row, lane| {
            let untold = || td_string!(locale, communication.untold).to_owned();
            trained(recording, row, lane).map_or_else(untold, format::loss)
        },
    },
    Line {
        label: |l| td_string!(l, communication.difference),
        read: difference,
    },
];

/// BatchNorm's running statistics on replica 0.
pub const BATCH_NORM: &[Line] = &[
    Line {
        label: |l| td_string!(l, communication.batches),
        read: |_, _, row, lane| norm(row, lane).map_or_else(nothing, |norm| format::count(norm.batches)),
    },
    Line {
        label: |l| td_string!(l, communication.mean),
        read: |_, _, row, lane| norm(row, lane).map_or_else(nothing, |norm| features(&norm.running_mean)),
    },
    Line {
        label: |l| td_string!(l, communication.variance),
        read: |_, _, row, lane| norm(row, lane).map_or_else(nothing, |norm| features(&norm.running_var)),
    },
    Line {
        label: |l| td_string!(l, communication.apart),
        read: apart,
    },
];

fn nothing() -> String {
    "–".to_owned()
}

fn total(row: &GroupRow, lane: usize, unit: Unit) -> Option<u64> {
    Some(row.lanes.get(lane)?.counters.get(unit))
}

fn in_last(recording: &Recording, lane: usize, unit: Unit) -> Option<u64> {
    recording.taken(lane, recording.groups.len().checked_sub(1)?, unit)
}

fn per_update(row: &GroupRow, lane: usize) -> Option<f64> {
    let counters = row.lanes.get(lane)?.counters;
    (counters.applied_updates > 0).then(|| counters.all_reduces as f64 / counters.applied_updates as f64)
}

fn replicas(locale: Locale, _: &Recording, row: &GroupRow, lane: usize) -> String {
    match row.lanes.get(lane).map(|lane| lane.replicas) {
        None => nothing(),
        Some(ReplicaSpread::InStep) => td_string!(locale, compare.in_step).to_owned(),
        Some(ReplicaSpread::Parted { largest }) => {
            td_string!(locale, compare.parted, largest = format::value(largest)).to_string()
        }
    }
}

/// `2.5 × 0.4` for each norm that the clip saw, a line each.
fn clip(locale: Locale, recording: &Recording, row: &GroupRow, lane: usize) -> String {
    let (Some(max_norm), Some(lane)) = (recording.setup.clip_norm, row.lanes.get(lane)) else {
        return nothing();
    };
    if lane.clip_norms.is_empty() {
        return td_string!(locale, communication.no_clip).to_owned();
    }
    let norms = lane.clip_norms.iter().take(WRITTEN);
    let mut parts: Vec<String> = norms
        .map(|&norm| {
            format!(
                "{} × {}",
                format::value(norm),
                format::value(coefficient(norm, max_norm))
            )
        })
        .collect();
    let more = lane.clip_norms.len().saturating_sub(WRITTEN);
    if more > 0 {
        parts.push(td_string!(locale, communication.more, n = more).to_string());
    }
    parts.join("\n")
}

fn trained(recording: &Recording, row: &GroupRow, lane: usize) -> Option<f64> {
    backpropagated(*recording.setup.lanes.get(lane)?, &row.plan, row.lanes.get(lane)?)
}

fn difference(locale: Locale, recording: &Recording, row: &GroupRow, lane: usize) -> String {
    let (Some(trained), Some(logged)) = (
        trained(recording, row, lane),
        row.lanes.get(lane).map(|lane| lane.logged_loss),
    ) else {
        return nothing();
    };
    let apart = relative_l2(&[logged], &[trained]);
    let tolerance = recording.setup.tolerance;
    if apart <= tolerance {
        td_string!(locale, communication.agree, value = format::error(tolerance)).to_string()
    } else {
        td_string!(locale, communication.differ, value = format::value(logged - trained)).to_string()
    }
}

fn norm(row: &GroupRow, lane: usize) -> Option<&BatchNormRow> {
    row.lanes.get(lane)?.batch_norm.as_ref()
}

fn features(values: &[f64]) -> String {
    let written: Vec<String> = values.iter().take(WRITTEN).map(|&x| format::value(x)).collect();
    let more = if values.len() > WRITTEN { ", …" } else { "" };
    format!("{}{more}", written.join(", "))
}

/// Means and variances together.
fn apart(locale: Locale, recording: &Recording, row: &GroupRow, lane: usize) -> String {
    if lane == 0 {
        return td_string!(locale, communication.reference).to_owned();
    }
    let (Some(one), Some(first)) = (norm(row, lane), norm(row, 0)) else {
        return nothing();
    };
    let all = |norm: &BatchNormRow| [norm.running_mean.clone(), norm.running_var.clone()].concat();
    let apart = relative_l2(&all(one), &all(first));
    let tolerance = recording.setup.tolerance;
    let (difference, value) = (format::error(apart), format::error(tolerance));
    if apart <= tolerance {
        td_string!(locale, communication.within, difference, value).to_string()
    } else {
        td_string!(locale, communication.beyond, difference, value).to_string()
    }
}
