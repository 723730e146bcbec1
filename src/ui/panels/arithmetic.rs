//! Where each lane's denominator comes from: microbatch by microbatch, and what one token weighs.

use leptos::prelude::*;

use super::loss_words::{derivation, scale};
use crate::{
    batch::{LaneRule, NoWeight, token_weight},
    lab::Recording,
    protocol::GroupRow,
    ui::{
        format,
        parts::{each_lane::each_lane, lane_mark::LaneMark},
        store::use_store,
        text::{td_string, tr},
        turns::Turn,
        words::names,
    },
};

/// So many microbatches are written out.
const ROWS: usize = 16;

/// One line of the table.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    replica: u32,
    index: u32,
    supervised: String,
    sum: String,
    mean: String,
    /// For each lane, what one supervised token weighs as a multiple of 1/N; where it is no one number, why.
    factors: Vec<Result<f64, NoWeight>>,
}

#[derive(Clone, Debug, PartialEq)]
struct Table {
    number: u64,
    lines: Vec<Line>,
    more: u64,
    supervised: String,
    sum: String,
}

fn table(recording: &Recording, row: &GroupRow) -> Table {
    let facts = row.plan.facts();
    // The sums of the first lane that has one a microbatch.
    let sums = row
        .lanes
        .iter()
        .map(|lane| &lane.loss_sums)
        .find(|sums| sums.len() == facts.microbatches.len());
    let sum_of = |at: usize| sums.and_then(|sums| sums.get(at)).copied();
    let lines = facts.microbatches.iter().enumerate().take(ROWS).map(|(at, k)| Line {
        replica: k.replica + 1,
        index: k.index + 1,
        supervised: format::count(k.supervised),
        sum: sum_of(at).map_or_else(|| "–".to_owned(), format::sum),
        mean: sum_of(at)
            .filter(|_| k.supervised > 0)
            .map_or_else(|| "–".to_owned(), |sum| format::loss(sum / k.supervised as f64)),
        factors: (recording.setup.lanes.iter().zip(&row.lanes))
            .map(|(&rule, lane)| token_weight(rule, &facts, k, row.plan.partial, scale(recording, lane)))
            .collect(),
    });
    Table {
        number: row.plan.number + 1,
        lines: lines.collect(),
        more: facts.microbatches.len().saturating_sub(ROWS) as u64,
        supervised: format::count(facts.supervised()),
        sum: sums.map_or_else(|| "–".to_owned(), |sums| format::sum(sums.iter().sum())),
    }
}

/// The panel.
#[component]
pub fn Arithmetic() -> impl IntoView {
    let store = use_store();
    let table = Memo::new(move |_| store.last(Turn::Sums, table));
    let height = Memo::new(move |_| table.with(|table| table.as_ref().map_or(0, |table| table.lines.len())));
    view! {
        <section class="panel" aria-labelledby="arithmetic-title">
            <h2 id="arithmetic-title">{tr!(store, arithmetic.title)}</h2>
            <Derivations />
            <p class="about">{tr!(store, arithmetic.weighs_about)}</p>
            <div class="table-scroll" tabindex="0" role="region" aria-labelledby="arithmetic-title">
                {move || {
                    let (height, lanes) = (height.get(), store.lanes.get());
                    if height == 0 {
                        view! { <p class="empty">{tr!(store, arithmetic.empty)}</p> }.into_any()
                    } else {
                        view! { <Sums table=table height=height lanes=lanes /> }.into_any()
                    }
                }}
            </div>
        </section>
    }
}

/// For each lane, the division that its gradient follows.
#[component]
fn Derivations() -> impl IntoView {
    let store = use_store();
    view! {
        <dl class="derivations">
            {each_lane(store, move |lane, rule| {
                let written = Memo::new(move |_| {
                    store.last(Turn::Sums, |recording, row| {
                        let one = row.lanes.get(lane)?;
                        Some(derivation(rule, &row.plan, one, scale(recording, one)))
                    })
                });
                view! {
                    <div>
                        <dt>
                            <LaneMark lane=lane />
                            <span>{move || names::lane(store.locale.get(), rule)}</span>
                        </dt>
                        <dd>
                            {move || match written.get().flatten() {
                                None => "–".to_owned(),
                                Some(Err(why)) => names::no_weight(store.locale.get(), why).to_owned(),
                                Some(Ok(written)) => written,
                            }}
                        </dd>
                    </div>
                }
                    .into_any()
            })}
        </dl>
    }
}

#[component]
fn Sums(table: Memo<Option<Table>>, height: usize, lanes: Vec<LaneRule>) -> impl IntoView {
    let store = use_store();
    let width = lanes.len();
    let total =
        move |read: fn(&Table) -> String| move || table.with(|table| table.as_ref().map(read).unwrap_or_default());
    view! {
        <table class="sums">
            <caption>
                {move || {
                    let number = format::count(table.with(|table| table.as_ref().map_or(0, |table| table.number)));
                    td_string!(store.locale.get(), arithmetic.group, number).to_string()
                }}
            </caption>
            <thead>
                <tr>
                    <th scope="col" rowspan="2">{tr!(store, arithmetic.microbatch)}</th>
                    <th scope="col" rowspan="2">
                        <abbr title=tr!(store, arithmetic.supervised_long)>{tr!(store, arithmetic.supervised)}</abbr>
                    </th>
                    <th scope="col" rowspan="2">
                        <abbr title=tr!(store, arithmetic.sum_long)>{tr!(store, arithmetic.sum)}</abbr>
                    </th>
                    <th scope="col" rowspan="2">{tr!(store, arithmetic.mean)}</th>
                    <th scope="colgroup" colspan=width>{tr!(store, arithmetic.token_weighs)}</th>
                </tr>
                <tr>
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
            <tbody>
                {(0..height).map(|at| view! { <SumLine table=table at=at width=width /> }).collect_view()}
            </tbody>
            <tfoot>
                <tr>
                    <th scope="row">"N, ΣS"</th>
                    <td>{total(|table| table.supervised.clone())}</td>
                    <td>{total(|table| table.sum.clone())}</td>
                    <td colspan={width + 1}>
                        {move || {
                            let n = table.with(|table| table.as_ref().map_or(0, |table| table.more));
                            (n > 0).then(|| td_string!(store.locale.get(), arithmetic.more, n).to_string())
                        }}
                    </td>
                </tr>
            </tfoot>
        </table>
    }
}

#[component]
fn SumLine(table: Memo<Option<Table>>, at: usize, width: usize) -> impl IntoView {
    let store = use_store();
    let line = Memo::new(move |_| table.with(|table| table.as_ref().and_then(|table| table.lines.get(at).cloned())));
    let text = move |read: fn(&Line) -> String| move || line.with(|line| line.as_ref().map(read).unwrap_or_default());
    view! {
        <tr>
            <th scope="row">
                {move || {
                    let locale = store.locale.get();
                    line.with(|line| {
                        let line = line.as_ref()?;
                        Some(td_string!(locale, arithmetic.place, d = line.replica, a = line.index).to_string())
                    })
                }}
            </th>
            <td>{text(|line| line.supervised.clone())}</td>
            <td>{text(|line| line.sum.clone())}</td>
            <td>{text(|line| line.mean.clone())}</td>
            {(0..width)
                .map(|lane| {
                    let factor = Memo::new(move |_| {
                        line.with(|line| line.as_ref().and_then(|line| line.factors.get(lane).copied()))
                    });
                    let off = move || factor.get().and_then(Result::ok).is_some_and(|factor| (factor - 1.0).abs() > 1e-9);
                    view! {
                        <td
                            class:off=off
                            title=move || {
                                let why = factor.get().and_then(Result::err);
                                why.map(|why| names::no_weight(store.locale.get(), why))
                            }
                        >
                            {move || {
                                let factor = factor.get().and_then(Result::ok).map(|factor| format!("{factor:.3}"));
                                let locale = store.locale.get();
                                factor
                                    .map_or_else(
                                        || "–".to_owned(),
                                        |factor| td_string!(locale, arithmetic.times, factor).to_string(),
                                    )
                            }}
                        </td>
                    }
                })
                .collect_view()}
        </tr>
    }
}
