//! A part of the form that folds, and opens by itself where something in it is to be mended.

use leptos::{html, prelude::*};

use super::field::{Words, to_mend};
use crate::{setup::Key, ui::store::use_store};

/// A titled part of the form.
#[component]
pub fn Section(
    /// Its title.
    title: Words,
    /// The fields in it.
    keys: &'static [Key],
    /// Whether it starts open.
    #[prop(optional)]
    open: bool,
    /// The fields.
    children: Children,
) -> impl IntoView {
    let store = use_store();
    let details = NodeRef::<html::Details>::new();
    open_for(details, keys);
    // A field can be looked for before it is drawn.
    let names = keys.iter().map(|key| key.name()).collect::<Vec<_>>().join(" ");
    view! {
        <details class="section" open=open node_ref=details data-fields=names>
            <summary>{move || title(store.locale.get())}</summary>
            <div class="section-body">{children()}</div>
        </details>
    }
}

/// Opens `details` whenever one of `keys` comes to have something to mend. What the person closes after that stays closed.
pub fn open_for(details: NodeRef<html::Details>, keys: &'static [Key]) {
    let store = use_store();
    let to_mend = to_mend(store, keys);
    Effect::new(move |_| {
        if let Some(details) = details.get().filter(|_| to_mend.get()) {
            // Fails for no attribute that HTML knows.
            let _ = details.set_attribute("open", "");
        }
    });
}
