//! The experiment as a link and as a file for the command line.

use leptos::prelude::*;

use crate::{
    setup::codec::{to_link, to_toml},
    ui::{
        browser,
        store::use_store,
        text::{td_string, tr},
    },
};

/// Whether the last copy went through.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Copied {
    NotYet,
    Yes,
    Refused,
}

/// A button that copies, and says whether it could.
#[component]
fn CopyButton(label: Signal<&'static str>, text: Callback<(), String>) -> impl IntoView {
    let store = use_store();
    let copied = RwSignal::new(Copied::NotYet);
    let copy = move |_| {
        let text = text.run(());
        leptos::task::spawn_local(async move {
            let done = browser::copy(&text).await;
            copied.set(if done { Copied::Yes } else { Copied::Refused });
        });
    };
    view! {
        <span class="copy">
            <button type="button" on:click=copy>{move || label.get()}</button>
            <span role="status">
                {move || {
                    let locale = store.locale.get();
                    match copied.get() {
                        Copied::NotYet => None,
                        Copied::Yes => Some(td_string!(locale, share.copied)),
                        Copied::Refused => Some(td_string!(locale, share.not_copied)),
                    }
                }}
            </span>
        </span>
    }
}

/// Link and TOML.
#[component]
pub fn SharePanel() -> impl IntoView {
    let store = use_store();
    let link = Callback::new(move |()| browser::address_with(&store.draft.with_untracked(to_link)));
    let toml = Callback::new(move |()| store.draft.with_untracked(to_toml));
    view! {
        <section class="panel share-panel" aria-labelledby="share-title">
            <header class="panel-head">
                <h2 id="share-title">{tr!(store, share.title)}</h2>
                <CopyButton label=Signal::derive(tr!(store, share.link)) text=link />
            </header>
            <details>
                <summary>{tr!(store, share.toml)}</summary>
                <p class="about">{tr!(store, share.toml_help)}</p>
                <pre class="toml" tabindex="0">{move || store.draft.with(to_toml)}</pre>
                <CopyButton label=Signal::derive(tr!(store, share.toml_copy)) text=toml />
            </details>
        </section>
    }
}
