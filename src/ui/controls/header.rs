//! The page's head: what it is, the device, the language, the colours, the keys.

use leptos::{html, prelude::*};

use crate::{
    lab::{Language, Msg, Theme},
    ui::{
        panels::device::DeviceBadge,
        remember::{language_code, theme_name},
        store::use_store,
        text::tr,
    },
};

/// The page's head.
#[component]
pub fn Header() -> impl IntoView {
    let store = use_store();
    view! {
        <header class="page-head">
            <div class="page-name">
                <h1>{tr!(store, app.title)}</h1>
                <p>{tr!(store, app.purpose)}</p>
            </div>
            <DeviceBadge />
            <div class="page-tools">
                <Languages />
                <Themes />
                <Shortcuts />
            </div>
        </header>
    }
}

#[component]
fn Languages() -> impl IntoView {
    let store = use_store();
    let current = store.memo(|lab| lab.blueprint.language);
    // Each language by its own name, whatever the page speaks now.
    let choices = [
        (Language::English, "EN", "English"),
        (Language::Russian, "RU", "Русский"),
    ];
    view! {
        <fieldset class="switch">
            <legend class="sr-only">{tr!(store, app.language)}</legend>
            {choices
                .map(|(language, short, name)| {
                    view! {
                        <label lang=language_code(language) title=name>
                            <input
                                type="radio"
                                name="language"
                                aria-label=name
                                prop:checked=move || current.get() == language
                                on:change=move |_| store.dispatch(Msg::Language(language))
                            />
                            <span aria-hidden="true">{short}</span>
                        </label>
                    }
                })
                .collect_view()}
        </fieldset>
    }
}

#[component]
fn Themes() -> impl IntoView {
    let store = use_store();
    let current = store.memo(|lab| lab.blueprint.theme);
    let pick = move |event| {
        let name = event_target_value(&event);
        let theme = [Theme::Light, Theme::Dark]
            .into_iter()
            .find(|&theme| theme_name(theme) == name);
        store.dispatch(Msg::Theme(theme.unwrap_or_default()));
    };
    let option = move |theme: Theme, words: Signal<&'static str>| {
        view! {
            <option value=theme_name(theme) selected=move || current.get() == theme>
                {move || words.get()}
            </option>
        }
    };
    view! {
        <label class="pick">
            <span class="sr-only">{tr!(store, app.theme)}</span>
            <select prop:value=move || theme_name(current.get()) on:change=pick>
                {option(Theme::System, Signal::derive(tr!(store, app.theme_system)))}
                {option(Theme::Light, Signal::derive(tr!(store, app.theme_light)))}
                {option(Theme::Dark, Signal::derive(tr!(store, app.theme_dark)))}
            </select>
        </label>
    }
}

#[component]
fn Shortcuts() -> impl IntoView {
    let store = use_store();
    let dialog = NodeRef::<html::Dialog>::new();
    let open = move |_| {
        if let Some(dialog) = dialog.get() {
            // Fails only where it is open already.
            let _ = dialog.show_modal();
        }
    };
    let close = move |_| {
        if let Some(dialog) = dialog.get() {
            dialog.close();
        }
    };
    let line = move |key: Signal<&'static str>, words: Signal<&'static str>| {
        view! {
            <dt>
                <kbd>{move || key.get()}</kbd>
            </dt>
            <dd>{move || words.get()}</dd>
        }
    };
    let letter = |letter: &'static str| Signal::derive(move || letter);
    view! {
        <button type="button" class="quiet" on:click=open>
            {tr!(store, app.shortcuts)}
        </button>
        <dialog node_ref=dialog aria-labelledby="shortcuts-title">
            <h2 id="shortcuts-title">{tr!(store, app.shortcuts)}</h2>
            <p>{tr!(store, app.shortcuts_intro)}</p>
            <dl class="shortcuts">
                {line(Signal::derive(tr!(store, app.key_space)), Signal::derive(tr!(store, app.key_run)))}
                {line(letter("S"), Signal::derive(tr!(store, app.key_microbatch)))}
                {line(letter("U"), Signal::derive(tr!(store, app.key_update)))}
                {line(letter("M"), Signal::derive(tr!(store, app.key_slow)))}
                {line(letter("R"), Signal::derive(tr!(store, app.key_reset)))}
            </dl>
            <button type="button" on:click=close>
                {tr!(store, app.close)}
            </button>
        </dialog>
    }
}
