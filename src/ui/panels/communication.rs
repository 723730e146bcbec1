//! What replicas exchange, what the clip saw, what the log says, and BatchNorm's running statistics.

use leptos::prelude::*;

use super::{
    exchange_words::{BATCH_NORM, CLIP, EXCHANGE, LOG},
    fold::Fold,
    lane_table::LaneTable,
};
use crate::ui::{
    format,
    later::{Part, coming::part},
    store::use_store,
    text::{td_string, tr},
    turns::Turn,
};

/// The panel.
#[component]
pub fn CommunicationPanel() -> impl IntoView {
    let store = use_store();
    view! {
        <Fold id="communication-title" title=Signal::derive(tr!(store, communication.title)) turn=Turn::Exchange>
            {part(Part::Communication)}
        </Fold>
    }
}

/// What it holds.
#[component]
pub fn Communication() -> impl IntoView {
    let store = use_store();
    let max_norm = store.memo(|lab| lab.recording.as_ref().and_then(|recording| recording.setup.clip_norm));
    let normed = store.memo(|lab| {
        let recording = lab.recording.as_ref();
        recording.is_some_and(|recording| recording.setup.batch_norm.is_some())
    });
    view! {
        <h3 id="exchange-title">{tr!(store, communication.exchanges)}</h3>
        <LaneTable turn=Turn::Exchange lines=EXCHANGE labelled_by="exchange-title" />
        <h3 id="log-title">{tr!(store, communication.log)}</h3>
        <LaneTable turn=Turn::Exchange lines=LOG labelled_by="log-title" />
        {move || {
            max_norm
                .get()
                .map(|norm| {
                    let norm = format::value(norm);
                    view! {
                        <h3 id="clip-title">{tr!(store, communication.clipping)}</h3>
                        <p class="about">
                            {move || {
                                td_string!(store.locale.get(), communication.max_norm, norm = norm.clone()).to_string()
                            }}
                        </p>
                        <LaneTable turn=Turn::Exchange lines=CLIP labelled_by="clip-title" />
                    }
                })
        }}
        {move || {
            normed
                .get()
                .then(|| {
                    view! {
                        <h3 id="batch-norm-title">{tr!(store, communication.batch_norm)}</h3>
                        <LaneTable turn=Turn::Exchange lines=BATCH_NORM labelled_by="batch-norm-title" />
                    }
                })
        }}
    }
}
