//! What is wrong with the loop of one lane: every fault of the table, by the place that it sits in.

use leptos::{html, prelude::*};

use super::lanes::change;
use crate::{
    batch::{
        Fault, FaultId, LaneRule, Pass, ScheduleShape,
        fault::{Place, TABLE},
    },
    lab::Msg,
    setup::{Draft, Key, Named as _, needs::lacking},
    ui::{
        browser,
        later::{Part, coming::part},
        parts::facts::RowFacts,
        store::{Store, use_store},
        text::{Locale, td_string, tr},
        words::loop_faults,
    },
};

/// The faults of a lane, listed once they are asked for.
#[component]
pub fn LaneLoop(
    /// Which lane, from 0.
    lane: usize,
    /// What it does.
    rule: Memo<Option<LaneRule>>,
) -> impl IntoView {
    let store = use_store();
    let details = NodeRef::<html::Details>::new();
    let open = RwSignal::new(false);
    let n = lane + 1;
    let title = move || {
        let locale = store.locale.get();
        let rows = rule.get().into_iter().flat_map(|rule| rule.faults.rows());
        let faults = rows
            .map(|row| loop_faults::name(locale, row.id))
            .collect::<Vec<_>>()
            .join(", ");
        if faults.is_empty() {
            td_string!(locale, lanes.loop_right).to_owned()
        } else {
            td_string!(locale, lanes.loop_wrong, faults).to_string()
        }
    };
    view! {
        <details
            class="lane-loop"
            node_ref=details
            on:toggle=move |_| open.set(details.get().is_some_and(|details| details.has_attribute("open")))
        >
            <summary>
                <span class="sr-only">{move || td_string!(store.locale.get(), lanes.lane, n).to_string()}": "</span>
                {title}
            </summary>
            {move || open.get().then(|| part(Part::Faults(lane, rule)))}
        </details>
    }
}

/// The list itself.
#[component]
pub fn Faults(
    /// Which lane, from 0.
    lane: usize,
    /// What it does.
    rule: Memo<Option<LaneRule>>,
) -> impl IntoView {
    let store = use_store();
    let whole = Memo::new(move |_| rule.get().is_some_and(|rule| rule.convention().pass == Pass::Whole));
    move || {
        if whole.get() {
            view! { <p class="about">{tr!(store, lanes.loop_none)}</p> }.into_any()
        } else {
            view! {
                <p class="about">{tr!(store, lanes.loop_about)}</p>
                {places().into_iter().map(|place| view! { <PlaceFaults place=place lane=lane rule=rule /> }).collect_view()}
            }
            .into_any()
        }
    }
}

/// The places, in the order of the table.
fn places() -> Vec<Place> {
    let mut places: Vec<Place> = TABLE.iter().map(|row| row.place).collect();
    places.dedup();
    places
}

#[component]
fn PlaceFaults(place: Place, lane: usize, rule: Memo<Option<LaneRule>>) -> impl IntoView {
    let store = use_store();
    let idle = move || store.draft.with(|draft| idle(store.locale.get(), draft, place));
    let rows = TABLE.iter().filter(move |row| row.place == place);
    view! {
        <fieldset class="place">
            <legend>{move || loop_faults::place(store.locale.get(), place)}</legend>
            <p class="about">{idle}</p>
            <ul class="choices">
                {rows.map(|row| view! { <FaultChoice row=row lane=lane rule=rule /> }).collect_view()}
            </ul>
        </fieldset>
    }
}

/// Why nothing in this place shows as the rest is set.
fn idle(locale: Locale, draft: &Draft, place: Place) -> Option<&'static str> {
    match place {
        Place::Synchronisation if draft.get(Key::Replicas).trim() == "1" => {
            Some(td_string!(locale, recipe.idle_replicas))
        }
        Place::Scheduler | Place::Horizon if draft.get(Key::Schedule).trim() == ScheduleShape::Constant.name() => {
            Some(td_string!(locale, recipe.idle_schedule))
        }
        _ => None,
    }
}

#[component]
fn FaultChoice(row: &'static Fault, lane: usize, rule: Memo<Option<LaneRule>>) -> impl IntoView {
    let store = use_store();
    let id = row.id;
    let name = move || loop_faults::name(store.locale.get(), id);
    let checked = Memo::new(move |_| rule.get().is_some_and(|rule| rule.faults.has(id)));
    let wanting = Memo::new(move |_| store.draft.with(|draft| lacking(draft, row.needs)));
    // Another convention is no setting that a button beside the fault could choose.
    let unfit = Memo::new(move |_| rule.get().is_some_and(|rule| !row.shows_under(rule.convention())));
    let idle = Memo::new(move |_| unfit.get() || wanting.with(|wanting| !wanting.is_empty()));
    // What is set already can always be taken away.
    let fixed = move || !checked.get() && idle.get();
    let reason = move || {
        let locale = store.locale.get();
        if unfit.get() {
            td_string!(locale, recipe.needs_part_mean)
        } else {
            wanting.with(|wanting| lacks(locale, wanting))
        }
    };
    let input = format!("lane-{}-{}", lane + 1, id.name());
    let needs = format!("{input}-needs");
    let set_it = {
        let input = input.clone();
        move |_| set(store, &wanting.get_untracked(), &input)
    };
    view! {
        <li>
            <label>
                <input
                    id=input
                    type="checkbox"
                    prop:checked=move || checked.get()
                    prop:disabled=fixed
                    aria-describedby=needs.clone()
                    on:change=move |_| switch(store, lane, id)
                />
                <span class="choice-name">{name}</span>
                <code class="formula">{row.formula}</code>
            </label>
            <p class="needs" id=needs hidden=move || !idle.get()>
                {reason}
                " "
                <button type="button" hidden=move || unfit.get() on:click=set_it>
                    {tr!(store, recipe.set)}
                </button>
            </p>
            <details class="more">
                <summary>
                    <span aria-hidden="true">{tr!(store, recipe.more_short)}</span>
                    <span class="sr-only">{move || td_string!(store.locale.get(), recipe.more, name = name()).to_string()}</span>
                </summary>
                <p>{move || loop_faults::about(store.locale.get(), id)}</p>
                <RowFacts symptom=row.symptom sources=row.sources />
            </details>
        </li>
    }
}

fn switch(store: Store, lane: usize, id: FaultId) {
    change(store, lane, |rule| LaneRule {
        faults: rule.faults.switched(id),
        ..rule
    });
}

fn lacks(locale: Locale, wanting: &[(Key, &str)]) -> &'static str {
    let lacks = |key| wanting.iter().any(|(other, _)| *other == key);
    match (lacks(Key::ClipNorm), lacks(Key::LossScale)) {
        (true, true) => td_string!(locale, recipe.needs_both),
        (true, false) => td_string!(locale, recipe.needs_clip),
        (false, true) => td_string!(locale, recipe.needs_loss_scale),
        (false, false) => "",
    }
}

/// The button goes with what it mends, so the focus moves to the fault that can be chosen now.
fn set(store: Store, wanting: &[(Key, &'static str)], then: &str) {
    store.dispatch_all(wanting.iter().map(|&(key, text)| Msg::Edit(key, text.to_owned())));
    browser::focus_soon(then.to_owned());
}
