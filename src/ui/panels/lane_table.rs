//! A small table of what a run reports: one row a quantity, one column a lane.

use leptos::prelude::*;

use crate::{
    lab::Recording,
    protocol::GroupRow,
    ui::{
        parts::{field::Words, lane_mark::LaneMark},
        store::use_store,
        text::{Locale, tr},
        turns::Turn,
        words::names,
    },
};

/// One quantity.
#[derive(Clone, Copy)]
pub struct Line {
    /// What it is called.
    pub label: Words,
    /// Reads it from the last group of a lane.
    pub read: fn(Locale, &Recording, &GroupRow, usize) -> String,
}

/// The table. Each cell is compared as text, and only a changed one is written.
#[component]
pub fn LaneTable(
    /// When it is looked at.
    turn: Turn,
    /// Its rows.
    lines: &'static [Line],
    /// The element ID of what names it.
    labelled_by: &'static str,
) -> impl IntoView {
    let store = use_store();
    let body = move |width: usize| {
        let row = move |line: &'static Line| {
            let cell = move |lane: usize| {
                let text = Memo::new(move |_| {
                    let locale = store.locale.get();
                    store.last(turn, |recording, row| (line.read)(locale, recording, row, lane))
                });
                view! { <td>{move || text.get().unwrap_or_else(|| "–".to_owned())}</td> }
            };
            view! {
                <tr>
                    <th scope="row">{move || (line.label)(store.locale.get())}</th>
                    {(0..width).map(cell).collect_view()}
                </tr>
            }
        };
        lines.iter().map(row).collect_view()
    };
    view! {
        <div class="table-scroll" tabindex="0" role="region" aria-labelledby=labelled_by>
            {move || {
                let lanes = store.lanes.get();
                let width = lanes.len();
                let head = lanes.into_iter().enumerate().map(|(lane, rule)| {
                    view! {
                        <th scope="col">
                            <LaneMark lane=lane />
                            " "
                            {move || names::lane(store.locale.get(), rule)}
                        </th>
                    }
                });
                view! {
                    <table class="compare lane-table">
                        <thead>
                            <tr>
                                <th scope="col">{tr!(store, scaler.quantity)}</th>
                                {head.collect_view()}
                            </tr>
                        </thead>
                        <tbody>{body(width)}</tbody>
                    </table>
                }
            }}
        </div>
    }
}
