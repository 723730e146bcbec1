//! Which lanes train side by side: how each counts, and what is wrong with its loop.

use leptos::prelude::*;

use super::lane_loop::LaneLoop;
use crate::{
    batch::{Convention, ConventionId, LaneRule, convention::TABLE},
    lab::Msg,
    setup::{Draft, Key, lane_name, limits::MAX_LANES, named::Named, named_lanes},
    ui::{
        browser,
        later::{Part, coming::part},
        parts::{field::message_of, lane_mark::LaneMark},
        store::{Store, use_store},
        text::{td_string, tr},
        words::names,
    },
};

const ADD: &str = "lanes-add";

/// All lanes.
#[component]
pub fn LaneFields() -> impl IntoView {
    let store = use_store();
    let error = message_of(store, Key::Lanes);
    let count = Memo::new(move |_| store.draft.with(|draft| chosen(draft).len()));
    let full = move || count.get() >= MAX_LANES;
    view! {
        <fieldset class="group lanes-field" aria-describedby="lanes-about field-lanes-error">
            <legend>{tr!(store, lanes.title)}</legend>
            <p class="about" id="lanes-about">{tr!(store, lanes.about)}</p>
            <ol class="lanes">
                <For each=move || 0..count.get() key=|lane| *lane let(lane)>
                    <Lane lane=lane count=count />
                </For>
            </ol>
            <p class="field-error" id="field-lanes-error" role="status">{move || error.get()}</p>
            <button
                type="button"
                id=ADD
                prop:disabled=full
                title=move || full().then(|| td_string!(store.locale.get(), lanes.full))
                on:click=move |_| add(store)
            >
                {tr!(store, lanes.add)}
            </button>
        </fieldset>
    }
}

#[component]
fn Lane(lane: usize, count: Memo<usize>) -> impl IntoView {
    let store = use_store();
    let rule = Memo::new(move |_| store.draft.with(|draft| chosen(draft).get(lane).copied()));
    let row = Memo::new(move |_| rule.get().map(|rule| rule.convention));
    let n = lane + 1;
    let pick = move |event| {
        if let Some(convention) = ConventionId::named(&event_target_value(&event)) {
            change(store, lane, |rule| rule.counting(convention));
        }
    };
    let options = move |correct: bool| {
        let rows = TABLE.iter().filter(move |row| row.correct == correct);
        rows.map(|row| view! { <ConventionOption id=row.id lane=lane rule=rule /> })
            .collect_view()
    };
    view! {
        <li class="lane">
            <div class="lane-head">
                <LaneMark lane=lane />
                <select
                    id=convention_id(lane)
                    aria-label=move || td_string!(store.locale.get(), lanes.convention, n).to_string()
                    aria-describedby="field-lanes-error"
                    prop:value=move || row.get().map(ConventionId::name)
                    on:change=pick
                >
                    <optgroup label=tr!(store, lanes.right)>{options(true)}</optgroup>
                    <optgroup label=tr!(store, lanes.wrong)>{options(false)}</optgroup>
                </select>
                <button
                    type="button"
                    class="quiet"
                    aria-label=move || td_string!(store.locale.get(), lanes.remove, n).to_string()
                    prop:disabled=move || count.get() <= 1
                    on:click=move |_| remove(store, lane)
                >
                    "×"
                </button>
            </div>
            <code class="formula">{move || row.get().map(|id| Convention::of(id).formula)}</code>
            <details class="lane-about">
                <summary>
                    <span class="sr-only">{move || td_string!(store.locale.get(), lanes.lane, n).to_string()}": "</span>
                    {tr!(store, lanes.about_convention)}
                </summary>
                {move || {
                    row.get().map(|id| part(Part::Convention(id)))
                }}
            </details>
            <LaneLoop lane=lane rule=rule />
        </li>
    }
}

#[component]
fn ConventionOption(id: ConventionId, lane: usize, rule: Memo<Option<LaneRule>>) -> impl IntoView {
    let store = use_store();
    // Two equal lanes would show nothing.
    let taken = move || {
        let wished = rule.get().map_or(LaneRule::from(id), |rule| rule.counting(id));
        let others = store
            .draft
            .with(chosen)
            .into_iter()
            .enumerate()
            .filter(|(other, _)| *other != lane);
        others.into_iter().any(|(_, other)| other == wished)
    };
    view! {
        <option
            value=id.name()
            selected=move || rule.get().is_some_and(|rule| rule.convention == id)
            disabled=taken
        >
            {move || names::convention(store.locale.get(), id)}
        </option>
    }
}

/// The lanes as typed, as far as they can be read. The rest has no place here, and the next change to a lane drops it.
fn chosen(draft: &Draft) -> Vec<LaneRule> {
    named_lanes(draft.get(Key::Lanes))
}

/// Replaces one lane.
pub(super) fn change(store: Store, lane: usize, edit: impl FnOnce(LaneRule) -> LaneRule) {
    let mut lanes = store.draft.with_untracked(chosen);
    if let Some(rule) = lanes.get_mut(lane) {
        *rule = edit(*rule);
    }
    write(store, &lanes);
}

fn write(store: Store, lanes: &[LaneRule]) {
    let names: Vec<String> = lanes.iter().copied().map(lane_name).collect();
    store.dispatch(Msg::Edit(Key::Lanes, names.join(",")));
}

/// One more lane: the first convention that no lane has yet without a fault.
fn add(store: Store) {
    let lanes = store.draft.with_untracked(chosen);
    let free = TABLE
        .iter()
        .map(|row| LaneRule::from(row.id))
        .find(|rule| !lanes.contains(rule));
    let Some(rule) = free.filter(|_| lanes.len() < MAX_LANES) else {
        return;
    };
    // What is to be mended stays as it is written, so that its message does, too.
    let written = store
        .draft
        .with_untracked(|draft| draft.get(Key::Lanes).trim().to_owned());
    let separator = if written.is_empty() { "" } else { "," };
    let text = format!("{written}{separator}{}", lane_name(rule));
    store.dispatch(Msg::Edit(Key::Lanes, text));
    browser::focus_soon(convention_id(lanes.len()));
}

/// The button pressed may be gone or out of use afterwards, so the focus goes to the one that undoes it.
fn remove(store: Store, lane: usize) {
    let mut lanes = store.draft.with_untracked(chosen);
    if lanes.len() > 1 && lane < lanes.len() {
        lanes.remove(lane);
        write(store, &lanes);
        browser::focus_soon(ADD.to_owned());
    }
}

fn convention_id(lane: usize) -> String {
    format!("lane-{}-convention", lane + 1)
}
