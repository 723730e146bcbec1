//! Lane by lane, in numbers: distances, replicas, checksums, counts.

use leptos::prelude::*;

use crate::{
    batch::{LaneRule, Unit},
    lab::Recording,
    protocol::{GroupRow, LaneRow, Outcome, ReplicaSpread},
    ui::{
        format,
        parts::lane_mark::LaneMark,
        store::{Store, use_store},
        text::{Locale, td_string, tr},
        turns::Turn,
        words::names,
    },
};

type Read = fn(Locale, &Recording, &GroupRow, usize) -> String;

/// One row a quantity, one column a lane.
#[component]
pub fn CompareTable() -> impl IntoView {
    let store = use_store();
    view! {
        <section class="panel" aria-labelledby="compare-title">
            <h2 id="compare-title">{tr!(store, compare.title)}</h2>
            <div class="table-scroll" tabindex="0" role="region" aria-labelledby="compare-title">
                {move || {
                    let lanes = store.lanes.get();
                    view! { <Body lanes=lanes /> }
                }}
            </div>
        </section>
    }
}

#[component]
fn Body(lanes: Vec<LaneRule>) -> impl IntoView {
    let store = use_store();
    let width = lanes.len();
    let row = move |label: Signal<&'static str>, read: Read| row(store, width, label, read);
    let words = move |read: fn(Locale) -> &'static str| Signal::derive(move || read(store.locale.get()));
    view! {
        <table class="compare">
            <thead>
                <tr>
                    <th scope="col">{tr!(store, compare.quantity)}</th>
                    {lanes
                        .into_iter()
                        .enumerate()
                        .map(|(lane, rule)| {
                            view! {
                                <th scope="col">
                                    <LaneMark lane=lane />
                                    " "
                                    {move || names::lane(store.locale.get(), rule)}
                                </th>
                            }
                        })
                        .collect_view()}
                </tr>
            </thead>
            {section(width, words(|l| td_string!(l, compare.at_first)))}
            <tbody>
                {row(words(|l| td_string!(l, compare.cosine)), |l, recording, _, lane| first(l, recording, lane, |a| a.gradient_cosine))}
                {row(
                    words(|l| td_string!(l, compare.relative)),
                    |l, recording, _, lane| first(l, recording, lane, |a| a.gradient_relative_l2),
                )}
            </tbody>
            {section(width, words(|l| td_string!(l, compare.now)))}
            <tbody>
                {row(words(|l| td_string!(l, compare.distance)), distance)}
                {row(words(|l| td_string!(l, compare.replicas)), replicas)}
            </tbody>
            {section(width, words(|l| td_string!(l, compare.checksums)))}
            <tbody>
                {row(words(|l| td_string!(l, compare.before)), |l, _, row, lane| checksum(l, row, lane, Moment::Before))}
                {row(words(|l| td_string!(l, compare.inside)), |l, _, row, lane| checksum(l, row, lane, Moment::Inside))}
                {row(words(|l| td_string!(l, compare.after)), |l, _, row, lane| checksum(l, row, lane, Moment::After))}
            </tbody>
            {section(width, words(|l| td_string!(l, compare.counters)))}
            <tbody>{Unit::ALL.map(|unit| counter(store, width, unit)).collect_view()}</tbody>
        </table>
    }
}

fn section(width: usize, label: Signal<&'static str>) -> impl IntoView {
    view! {
        <tbody class="rows-head">
            <tr>
                <th scope="rowgroup" colspan={width + 1}>{move || label.get()}</th>
            </tr>
        </tbody>
    }
}

fn row(store: Store, width: usize, label: Signal<&'static str>, read: Read) -> impl IntoView {
    view! {
        <tr>
            <th scope="row">{move || label.get()}</th>
            {(0..width)
                .map(|lane| {
                    let text = Memo::new(move |_| {
                        let locale = store.locale.get();
                        store.last(Turn::Tables, |recording, row| read(locale, recording, row, lane))
                    });
                    view! { <td>{move || text.get().unwrap_or_else(|| "–".to_owned())}</td> }
                })
                .collect_view()}
        </tr>
    }
}

/// While a group is watched, its microbatches count at once.
fn counter(store: Store, width: usize, unit: Unit) -> impl IntoView {
    view! {
        <tr>
            <th scope="row">{move || names::unit(store.locale.get(), unit)}</th>
            {(0..width)
                .map(|lane| {
                    let count = store.memo_in(Turn::Tables, move |lab| lab.recording.as_ref().map_or(0, |recording| counted(recording, lane, unit)));
                    view! { <td>{move || format::counted(store.locale.get(), unit, count.get())}</td> }
                })
                .collect_view()}
        </tr>
    }
}

fn counted(recording: &Recording, lane: usize, unit: Unit) -> u64 {
    let watched = recording
        .current
        .as_ref()
        .filter(|current| current.ended.is_none())
        .and_then(|current| {
            let rows = current.rows.iter().flatten().filter_map(|row| row.lanes.get(lane));
            rows.map(|watched| watched.counters.get(unit)).max()
        });
    let ended = recording
        .lanes
        .get(lane)
        .and_then(|series| series.counters.last())
        .map(|counters| counters.get(unit));
    watched.into_iter().chain(ended).max().unwrap_or(0)
}

fn first(locale: Locale, recording: &Recording, lane: usize, read: fn(&crate::protocol::Apart) -> f64) -> String {
    let mut rows = recording.groups.iter().filter_map(|row| row.lanes.get(lane));
    let Some(row) = rows.find(|row| row.ended() == Outcome::Applied) else {
        return "–".to_owned();
    };
    row.apart
        .as_ref()
        .map_or_else(|| same(locale), |apart| format::value(read(apart)))
}

fn distance(locale: Locale, _: &Recording, row: &GroupRow, lane: usize) -> String {
    of(row, lane, |row| {
        match &row.apart {
            Some(apart) => format::value(apart.parameter_distance),
            None if lane == 0 => same(locale),
            // A skipped group measures nothing.
            None => "–".to_owned(),
        }
    })
}

fn replicas(locale: Locale, _: &Recording, row: &GroupRow, lane: usize) -> String {
    of(row, lane, |row| match row.replicas {
        ReplicaSpread::InStep => td_string!(locale, compare.in_step).to_owned(),
        ReplicaSpread::Parted { largest } => {
            td_string!(locale, compare.parted, largest = format::value(largest)).to_string()
        }
    })
}

#[derive(Clone, Copy)]
enum Moment {
    Before,
    Inside,
    After,
}

fn checksum(locale: Locale, row: &GroupRow, lane: usize, moment: Moment) -> String {
    of(row, lane, |row| {
        let Some([before, inside, after]) = row.checksums else {
            return td_string!(locale, compare.not_read).to_owned();
        };
        let (bits, words) = match moment {
            Moment::Before => return format::checksum(before),
            Moment::Inside if inside == before => (inside, td_string!(locale, compare.still)),
            Moment::Inside => (inside, td_string!(locale, compare.moved)),
            Moment::After if after == inside => (after, td_string!(locale, compare.unchanged)),
            Moment::After => (after, td_string!(locale, compare.updated)),
        };
        // The words have a line of their own: side by side four lanes do not fit.
        format!("{}\n{words}", format::checksum(bits))
    })
}

fn same(locale: Locale) -> String {
    td_string!(locale, compare.same).to_owned()
}

fn of(row: &GroupRow, lane: usize, read: impl Fn(&LaneRow) -> String) -> String {
    row.lanes.get(lane).map_or_else(|| "–".to_owned(), read)
}
