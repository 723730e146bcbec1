//! The loss scale: what was used and what comes next, attempts against applied updates, and the scale over attempts.

use leptos::prelude::*;

use super::{
    fold::Fold,
    lane_table::{LaneTable, Line},
};
use crate::{
    batch::Unit,
    chart::Kind,
    lab::Recording,
    protocol::{GroupRow, ScaleRow},
    ui::{
        charts::{ChartLane, ChartWords, Feed, LineChart, Version},
        format,
        later::{Part, coming::part},
        store::{Store, use_store},
        text::{Locale, td_string, tr},
        turns::Turn,
        words::names,
    },
};

/// So many of the newest attempts that changed nothing have their groups named.
const NAMED: usize = 6;

const LINES: &[Line] = &[
    Line {
        label: |l| td_string!(l, scaler.used),
        read: |_, _, row, lane| scale(row, lane, |scale| format::value(scale.used)),
    },
    Line {
        label: |l| td_string!(l, scaler.next),
        read: |_, _, row, lane| scale(row, lane, |scale| format::value(scale.next)),
    },
    Line {
        label: |l| td_string!(l, scaler.tracker),
        read: |_, _, row, lane| scale(row, lane, |scale| format::count(scale.growth_tracker.into())),
    },
    Line {
        label: |l| td_string!(l, scaler.attempts),
        read: |_, _, row, lane| count(row, lane, Unit::UpdateAttempts),
    },
    Line {
        label: |l| td_string!(l, scaler.applied),
        read: |_, _, row, lane| count(row, lane, Unit::AppliedUpdates),
    },
    Line {
        label: |l| td_string!(l, scaler.skipped),
        read: |locale, recording, _, lane| skipped(locale, recording, lane),
    },
    Line {
        label: |l| td_string!(l, scaler.rate),
        read: |_, _, row, lane| {
            row.lanes
                .get(lane)
                .map_or_else(nothing, |lane| format::value(lane.rate))
        },
    },
];

fn nothing() -> String {
    "–".to_owned()
}

fn scale(row: &GroupRow, lane: usize, read: impl Fn(ScaleRow) -> String) -> String {
    row.lanes
        .get(lane)
        .and_then(|lane| lane.scale)
        .map_or_else(nothing, read)
}

fn count(row: &GroupRow, lane: usize, unit: Unit) -> String {
    row.lanes
        .get(lane)
        .map_or_else(nothing, |lane| format::count(lane.counters.get(unit)))
}

/// How many, and the numbers of the newest.
fn skipped(locale: Locale, recording: &Recording, lane: usize) -> String {
    let Some(groups) = recording.lanes.get(lane).map(|series| &series.not_applied) else {
        return nothing();
    };
    if groups.is_empty() {
        return "0".to_owned();
    }
    let newest = &groups[groups.len().saturating_sub(NAMED)..];
    let mut numbers: Vec<String> = newest.iter().map(|(number, _)| format::count(number + 1)).collect();
    // More than one attempt of a group may have changed nothing.
    numbers.dedup();
    let (count, numbers) = (format::count(groups.len() as u64), numbers.join(", "));
    if groups.len() > NAMED {
        td_string!(locale, scaler.groups_more, count, numbers).to_string()
    } else {
        td_string!(locale, scaler.groups, count, numbers).to_string()
    }
}

/// Open where the form has a loss scale.
#[component]
pub fn ScalerPanel() -> impl IntoView {
    let store = use_store();
    let applies = Memo::new(move |_| {
        store
            .setup
            .with(|setup| setup.as_ref().is_some_and(|setup| setup.loss_scale.is_some()))
    });
    view! {
        <Fold id="scaler-title" title=Signal::derive(tr!(store, scaler.title)) applies=applies turn=Turn::Scale>
            {part(Part::Scaler)}
        </Fold>
    }
}

/// What it holds.
#[component]
pub fn Scaler() -> impl IntoView {
    let store = use_store();
    let scaled = store.memo(|lab| {
        let recording = lab.recording.as_ref();
        recording.is_some_and(|recording| recording.setup.loss_scale.is_some())
    });
    move || {
        if scaled.get() {
            view! {
                <LaneTable turn=Turn::Scale lines=LINES labelled_by="scaler-title" />
                <ScaleChart />
            }
            .into_any()
        } else {
            view! { <p class="empty">{tr!(store, scaler.none)}</p> }.into_any()
        }
    }
}

#[component]
fn ScaleChart() -> impl IntoView {
    let store = use_store();
    let lanes = Signal::derive(move || {
        let locale = store.locale.get();
        let lane = |rule| ChartLane {
            label: names::lane(locale, rule),
            visible: true,
        };
        store.lanes.get().into_iter().map(lane).collect::<Vec<_>>()
    });
    let words = Signal::derive(move || {
        let locale = store.locale.get();
        let (what, axis) = (
            td_string!(locale, scaler.chart),
            names::unit(locale, Unit::UpdateAttempts),
        );
        let lanes = store.lanes.with(Vec::len);
        ChartWords {
            summary: td_string!(locale, chart.describe, what, axis, lanes).to_string(),
            help: td_string!(locale, chart.zoom_help).to_owned(),
            empty: td_string!(locale, scaler.chart_empty).to_owned(),
            reset: td_string!(locale, chart.reset_zoom).to_owned(),
            x: axis.to_owned(),
            y: what.to_owned(),
        }
    });
    view! {
        <div class="chart-panel small-chart">
            <LineChart feed=feed(store) lanes=lanes kind=Signal::stored(Kind::Log) words=words id="scale-chart" />
        </div>
    }
}

fn feed(store: Store) -> Feed {
    let ended = store.ended_in(Turn::Scale);
    let version = Memo::new(move |_| Version::of_run(ended.get()));
    Feed::new(version, move |lane, from, push| {
        store.peek(|lab| {
            let series = lab.recording.as_ref().and_then(|recording| recording.lanes.get(lane));
            for &(attempts, used) in series.iter().flat_map(|series| &series.scale).skip(from) {
                push(attempts as f64, used);
            }
        });
    })
}
