//! The experiments on the first screen.

use leptos::prelude::*;

use crate::{
    lab::{Msg, Transport},
    setup::{PRESETS, PresetKind},
    ui::{
        store::{Store, use_store},
        text::tr,
        words::names,
    },
};

/// A row of presets for each kind; the one that the form equals is marked.
#[component]
pub fn Presets() -> impl IntoView {
    let store = use_store();
    let current = Memo::new(move |_| {
        store
            .draft
            .with(|draft| PRESETS.iter().position(|preset| (preset.draft)() == *draft))
    });
    view! {
        <section class="presets" aria-labelledby="presets-title">
            <h2 id="presets-title" class="sr-only">{tr!(store, presets.title)}</h2>
            <Row kind=PresetKind::Counting id="presets-counting" current=current />
            <Row kind=PresetKind::Loops id="presets-loops" current=current />
            <p class="preset-about">
                {move || {
                    let about = current.get().and_then(|at| PRESETS.get(at));
                    about.map(|preset| names::preset(store.locale.get(), preset.name).1)
                }}
            </p>
        </section>
    }
}

#[component]
fn Row(kind: PresetKind, id: &'static str, current: Memo<Option<usize>>) -> impl IntoView {
    let store = use_store();
    let presets = PRESETS
        .iter()
        .enumerate()
        .filter(move |(_, preset)| preset.kind == kind);
    view! {
        <div class="preset-row">
            <h3 id=id>{move || names::preset_kind(store.locale.get(), kind)}</h3>
            <ul aria-labelledby=id>
                {presets
                    .map(|(at, preset)| {
                        let name = preset.name;
                        view! {
                            <li>
                                <button
                                    type="button"
                                    aria-pressed=move || (current.get() == Some(at)).to_string()
                                    title=move || names::preset(store.locale.get(), name).1
                                    on:click=move |_| choose(store, at)
                                >
                                    {move || names::preset(store.locale.get(), name).0}
                                </button>
                            </li>
                        }
                    })
                    .collect_view()}
            </ul>
        </div>
    }
}

/// Fills the form. A run that stands still makes room for the new experiment; a running one goes on. One that the form is already changes
/// nothing: Space is pressed to run, and a run is not to be lost by where the focus stands.
fn choose(store: Store, at: usize) {
    let Some(preset) = PRESETS.get(at) else { return };
    let draft = (preset.draft)();
    if store.draft.with_untracked(|present| *present == draft) {
        return;
    }
    let replace = Msg::Replace(draft);
    let still = matches!(
        store.transport.get_untracked(),
        Transport::Paused | Transport::Finished | Transport::Failed | Transport::Loading
    );
    if still {
        store.dispatch_all([replace, Msg::Reset]);
    } else {
        store.dispatch(replace);
    }
}
