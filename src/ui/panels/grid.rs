//! The group being worked on: one row a replica, one column an accumulated microbatch.

use std::sync::Arc;

use leptos::prelude::*;

use super::group_view::{CellView, Ended, GroupView};
use crate::{
    lab::Progress,
    ui::{
        format,
        parts::each_lane::each_lane,
        store::use_store,
        text::{Locale, td_string, tr},
        turns::Turn,
        words::names,
    },
};

/// The group's table.
#[component]
pub fn GroupGrid() -> impl IntoView {
    let store = use_store();
    let lane = RwSignal::new(0_usize);
    let group = Memo::new(move |_| {
        let lane = lane.get();
        // Built anew with each message, compared by content.
        store.follow_in(Turn::Group, move |lab| GroupView::of(lab, lane).map(Arc::new))
    });
    let shape = Memo::new(move |_| group.with(|group| group.as_ref().map(|group| (group.rows, group.columns))));
    let title = move || {
        let locale = store.locale.get();
        group.with(|group| match group {
            Some(group) => td_string!(locale, grid.title, number = format::count(group.number)).to_string(),
            None => td_string!(locale, grid.title_none).to_owned(),
        })
    };
    let about = move || {
        let locale = store.locale.get();
        group.with(|group| {
            let group = group.as_ref()?;
            let (d, a) = (group.replicas, group.accumulation);
            let mut parts = vec![
                td_string!(locale, grid.about, d, a).to_string(),
                td_string!(locale, grid.epoch, n = group.epoch).to_string(),
            ];
            if group.partial {
                parts.push(td_string!(locale, grid.partial).to_owned());
            }
            parts.push(td_string!(locale, grid.denominator, n = format::count(group.supervised)).to_string());
            let (shown, all) = group.shown;
            let [places, unique, repeated] = group.members.map(format::count);
            parts.push(td_string!(locale, members.counted, unique, places).to_string());
            if group.members[2] > 0 {
                parts.push(td_string!(locale, members.repeated, n = repeated).to_string());
            }
            if shown < all {
                let (shown, all) = (format::count(shown), format::count(all));
                parts.push(td_string!(locale, grid.clipped, shown, all).to_string());
            }
            Some(parts.join(" · "))
        })
    };
    let outcome = move || {
        let locale = store.locale.get();
        group.with(|group| ended_words(locale, group.as_ref()?.ended?))
    };
    view! {
        <section class="panel grid-panel" aria-labelledby="grid-title">
            <header class="panel-head">
                <h2 id="grid-title">{title}</h2>
                <label class="pick">
                    <span>{tr!(store, grid.lane)}</span>
                    <select on:change=move |event| lane.set(event_target_value(&event).parse().unwrap_or(0))>
                        {each_lane(store, move |at, rule| {
                            view! {
                                <option value=at.to_string() selected=move || lane.get() == at>
                                    {move || format!("{} · {}", at + 1, names::lane(store.locale.get(), rule))}
                                </option>
                            }
                                .into_any()
                        })}
                    </select>
                </label>
            </header>
            <p class="about">{about}</p>
            <p class="outcome" role="status">{outcome}</p>
            <div class="grid-scroll" tabindex="0" role="region" aria-labelledby="grid-title">
                {move || match shape.get() {
                    Some((rows, columns)) => view! { <Cells group=group rows=rows columns=columns /> }.into_any(),
                    None => view! { <p class="empty">{tr!(store, grid.empty)}</p> }.into_any(),
                }}
            </div>
        </section>
    }
}

/// What did not change anything, and why; `None` where all did.
fn ended_words(locale: Locale, ended: Ended) -> Option<String> {
    let why = names::outcome(locale, ended.outcome)?;
    if ended.attempts == 1 {
        return Some(why.to_owned());
    }
    let [n, all] = [ended.changed_nothing, ended.attempts].map(format::count);
    let count = td_string!(locale, grid.attempts_skipped, n, all);
    Some(format!("{count} {why}"))
}

#[component]
fn Cells(group: Memo<Option<Arc<GroupView>>>, rows: u32, columns: u32) -> impl IntoView {
    let store = use_store();
    view! {
        <table class="grid">
            <thead>
                <tr>
                    <td></td>
                    {(1..=columns)
                        .map(|n| {
                            view! {
                                <th scope="col">{move || td_string!(store.locale.get(), grid.index, n = n).to_string()}</th>
                            }
                        })
                        .collect_view()}
                </tr>
            </thead>
            <tbody>
                {(0..rows)
                    .map(|replica| {
                        view! {
                            <tr>
                                <th scope="row">
                                    {move || td_string!(store.locale.get(), grid.replica, n = replica + 1).to_string()}
                                </th>
                                {(0..columns)
                                    .map(|index| view! { <Cell group=group replica=replica index=index /> })
                                    .collect_view()}
                            </tr>
                        }
                    })
                    .collect_view()}
            </tbody>
        </table>
    }
}

#[component]
fn Cell(group: Memo<Option<Arc<GroupView>>>, replica: u32, index: u32) -> impl IntoView {
    let store = use_store();
    let cell =
        Memo::new(move |_| group.with(|group| group.as_ref().and_then(|group| group.cell(replica, index).cloned())));
    let state = move || cell.with(|cell| cell.as_ref().map_or("absent", |cell| name(cell.state)));
    let words = move || {
        let locale = store.locale.get();
        cell.with(|cell| {
            cell.as_ref()
                .map_or(td_string!(locale, grid.absent), |cell| state_words(locale, cell.state))
        })
    };
    let text =
        move |read: fn(&CellView) -> String| move || cell.with(|cell| cell.as_ref().map(read).unwrap_or_default());
    let tokens = move |read: fn(Locale, &CellView) -> String| {
        move || {
            let locale = store.locale.get();
            cell.with(|cell| cell.as_ref().map(|cell| read(locale, cell)))
        }
    };
    let percent = move |read: fn(&CellView) -> u64| {
        move || {
            cell.with(|cell| {
                let Some(cell) = cell else { return "0%".to_owned() };
                let positions = (cell.supervised + cell.padded + cell.context).max(1);
                format!("{:.1}%", 100.0 * cell.share * read(cell) as f64 / positions as f64)
            })
        }
    };
    view! {
        <td class="cell" data-state=state>
            <span class="cell-state">{words}</span>
            <span class="cell-bar" aria-hidden="true">
                <i class="bar-supervised" style:width=percent(|cell| cell.supervised)></i>
                <i class="bar-context" style:width=percent(|cell| cell.context)></i>
                <i class="bar-padded" style:width=percent(|cell| cell.padded)></i>
            </span>
            <span class="cell-loss">{text(|cell| cell.loss.map(format::loss).unwrap_or_default())}</span>
            <span class="cell-tokens">
                {tokens(|l, cell| td_string!(l, grid.supervised, n = format::count(cell.supervised)).to_string())}
            </span>
            <span class="cell-tokens cell-padded">
                {tokens(|l, cell| td_string!(l, grid.padded, n = format::count(cell.padded)).to_string())}
            </span>
            <span class="cell-ids" title=text(|cell| cell.ids.clone())>{text(|cell| cell.ids.clone())}</span>
        </td>
    }
}

/// The name that the style sheets know.
fn name(state: Progress) -> &'static str {
    match state {
        Progress::Waiting => "waiting",
        Progress::Forward => "forward",
        Progress::Backward => "backward",
        Progress::Done => "done",
        Progress::Reduced => "reduced",
        Progress::LeftOut => "left-out",
    }
}

fn state_words(locale: Locale, state: Progress) -> &'static str {
    match state {
        Progress::Waiting => td_string!(locale, grid.waiting),
        Progress::Forward => td_string!(locale, grid.forward),
        Progress::Backward => td_string!(locale, grid.backward),
        Progress::Done => td_string!(locale, grid.done),
        Progress::Reduced => td_string!(locale, grid.reduced),
        Progress::LeftOut => td_string!(locale, members.left_out),
    }
}
