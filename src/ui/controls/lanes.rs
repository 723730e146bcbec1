//! Which conventions train side by side.

use leptos::prelude::*;

use crate::{
    batch::{Convention, ConventionId, convention::TABLE},
    lab::Msg,
    setup::{Draft, Key, limits::MAX_LANES, named::Named},
    ui::{
        parts::lane_mark::LaneMark,
        store::{Store, use_store},
        text::{td_string, tr},
        words::{names, problem::problem},
    },
};

/// The conventions of the main question; the rest of the table are further ways to be wrong.
const MAIN: [ConventionId; 4] = [
    ConventionId::TokenWeighted,
    ConventionId::MeanOfMeans,
    ConventionId::ReplicaTokenMean,
    ConventionId::FullBatch,
];

/// A checkbox a convention; the order of choosing is the order of lanes.
#[component]
pub fn LaneFields() -> impl IntoView {
    let store = use_store();
    let error = Memo::new(move |_| {
        let locale = store.locale.get();
        store.errors.with(|errors| {
            let error = errors.iter().find(|error| error.key == Key::Lanes)?;
            Some(problem(locale, &error.problem))
        })
    });
    let others = TABLE.iter().filter(|row| !MAIN.contains(&row.id));
    view! {
        <fieldset class="group lanes-field" aria-describedby="lanes-about field-lanes-error">
            <legend>{tr!(store, lanes.title)}</legend>
            <p class="about" id="lanes-about">{tr!(store, lanes.about)}</p>
            <ul class="choices">{MAIN.map(|id| view! { <Choice id=id /> }).collect_view()}</ul>
            <details>
                <summary>{tr!(store, lanes.wrong)}</summary>
                <ul class="choices">{others.map(|row| view! { <Choice id=row.id /> }).collect_view()}</ul>
            </details>
            <p class="field-error" id="field-lanes-error" role="status">{move || error.get()}</p>
        </fieldset>
    }
}

#[component]
fn Choice(id: ConventionId) -> impl IntoView {
    let store = use_store();
    let place = Memo::new(move |_| {
        store
            .draft
            .with(|draft| chosen(draft).iter().position(|lane| lane == id.name()))
    });
    let count = Memo::new(move |_| store.draft.with(|draft| chosen(draft).len()));
    let fixed = move || match place.get() {
        Some(_) => count.get() <= 1,
        None => count.get() >= MAX_LANES,
    };
    let why = move || {
        let locale = store.locale.get();
        fixed().then(|| match place.get() {
            Some(_) => td_string!(locale, lanes.at_least),
            None => td_string!(locale, lanes.at_most),
        })
    };
    view! {
        <li>
            <label title=why>
                <input
                    type="checkbox"
                    prop:checked=move || place.get().is_some()
                    prop:disabled=fixed
                    on:change=move |_| toggle(store, id)
                />
                <span class="choice-name">{move || names::convention(store.locale.get(), id)}</span>
                <code class="formula">{Convention::of(id).formula}</code>
                {move || place.get().map(|lane| view! { <LaneMark lane=lane /> })}
            </label>
        </li>
    }
}

/// The lanes as typed. A name that is no convention has no box here, and the next click drops it.
fn chosen(draft: &Draft) -> Vec<String> {
    let names = draft.get(Key::Lanes).split([',', ';', ' ', '\n']).map(str::trim);
    names
        .filter(|name| ConventionId::named(name).is_some())
        .map(str::to_owned)
        .collect()
}

fn toggle(store: Store, id: ConventionId) {
    let mut lanes = store.draft.with_untracked(chosen);
    match lanes.iter().position(|lane| lane == id.name()) {
        Some(at) => drop(lanes.remove(at)),
        None => lanes.push(id.name().to_owned()),
    }
    store.dispatch(Msg::Edit(Key::Lanes, lanes.join(",")));
}
