//! Where examples come from: a generated task, or the person's own file, dropped, picked or pasted.

use gloo_file::futures::read_as_bytes;
use leptos::{ev, html, prelude::*};
use wasm_bindgen::JsCast as _;

use super::preview::{Preview, Samples};
use crate::{
    data::{DataError, check_size, read_file},
    lab::{Msg, OwnFile},
    setup::Key,
    ui::{
        format,
        later::{Part, coming::part},
        parts::field::{ChoiceField, TextField, Words, message_of},
        store::{Store, use_store},
        text::{td_string, tr},
    },
};

const SOURCES: &[(&str, Words)] = &[
    ("sort", |l| td_string!(l, data.sort)),
    ("copy", |l| td_string!(l, data.copy)),
    ("reverse", |l| td_string!(l, data.reverse)),
    ("addition", |l| td_string!(l, data.addition)),
    ("two_sources", |l| td_string!(l, data.two_sources)),
    ("text", |l| td_string!(l, data.text)),
    ("jsonl", |l| td_string!(l, data.jsonl)),
];

/// The fields of data and of its lengths.
pub const KEYS: &[Key] = &[
    Key::Data,
    Key::Examples,
    Key::FileName,
    Key::Lengths,
    Key::LengthList,
    Key::LengthMin,
    Key::LengthMax,
    Key::LengthMedian,
    Key::LengthSigma,
    Key::LengthShort,
    Key::LengthLong,
    Key::LengthLongShare,
];

/// The source, and what is in it.
#[component]
pub fn DataFields(
    /// What the data comes to.
    preview: Preview,
) -> impl IntoView {
    let store = use_store();
    let source = store.field(Key::Data);
    let own = Memo::new(move |_| source.with(|source| source == "text" || source == "jsonl"));
    view! {
        <ChoiceField key=Key::Data label=|l| td_string!(l, data.source) options=SOURCES />
        <TextField key=Key::Examples label=|l| td_string!(l, data.examples) />
        <div class="own" hidden=move || !own.get()>
            {part(Part::Own(source))}
        </div>
        <h3>{tr!(store, data.preview)}</h3>
        <p class="about">{tr!(store, data.preview_about)}</p>
        <Samples preview=preview />
    }
}

/// The person's own file, dropped, picked or pasted.
#[component]
pub fn Own(
    /// How it is read.
    source: Memo<String>,
) -> impl IntoView {
    let store = use_store();
    let name = store.field(Key::FileName);
    let own = store.memo(|lab| {
        lab.blueprint
            .own
            .as_ref()
            .map(|file| (file.name.clone(), file.text.len() as u64))
    });
    let refused = message_of(store, Key::FileName);
    let over = RwSignal::new(false);
    let pick = NodeRef::<html::Input>::new();
    let drop = move |event: ev::DragEvent| {
        event.prevent_default();
        over.set(false);
        let file = event
            .data_transfer()
            .and_then(|transfer| transfer.files())
            .and_then(|files| files.get(0));
        if let Some(file) = file {
            take_file(store, file);
        }
    };
    let picked = move |_| {
        if let Some(input) = pick.get() {
            if let Some(file) = input.files().and_then(|files| files.get(0)) {
                take_file(store, file);
            }
            // So that the same file can be picked again after it was mended.
            input.set_value("");
        }
    };
    let state = move || {
        let locale = store.locale.get();
        let wanted = name.get();
        own.with(|own| match own {
            Some((name, size)) if wanted.is_empty() || *name == wanted => td_string!(
                locale,
                data.file,
                name = name.clone(),
                size = format::bytes(locale, *size)
            )
            .to_string(),
            _ if !wanted.is_empty() => td_string!(locale, data.file_wanted, name = wanted).to_string(),
            _ => td_string!(locale, data.no_file).to_owned(),
        })
    };
    view! {
        <div
            class="drop"
            class:over=move || over.get()
            on:dragover=move |event: ev::DragEvent| {
                event.prevent_default();
                over.set(true);
            }
            on:dragleave=move |_| over.set(false)
            on:drop=drop
        >
            <label class="file-pick">
                <span>{tr!(store, data.choose)}</span>
                <input
                    type="file"
                    aria-describedby="own-file-error"
                    aria-invalid=move || refused.with(Option::is_some).then_some("true")
                    accept=".txt,.jsonl,.ndjson,.json,text/plain,application/jsonl"
                    node_ref=pick
                    on:change=picked
                />
            </label>
            <span class="about">{tr!(store, data.drop)}</span>
        </div>
        <p class="field-error" id="own-file-error" role="status">
            {move || refused.get()}
        </p>
        <p class="file-state" role="status">{state}</p>
        <Paste source=source />
        <p class="about" hidden=move || source.with(|source| source != "jsonl")>{tr!(store, data.jsonl_help)}</p>
        <p class="about">{tr!(store, data.stays)}</p>
    }
}

#[component]
fn Paste(source: Memo<String>) -> impl IntoView {
    let store = use_store();
    let text = RwSignal::new(String::new());
    let take = move |_| {
        let locale = store.locale.get_untracked();
        let jsonl = source.with_untracked(|source| source == "jsonl");
        let name = if jsonl {
            td_string!(locale, data.pasted_name_jsonl)
        } else {
            td_string!(locale, data.pasted_name)
        };
        let read = text.with_untracked(|text| read_file(text.as_bytes()));
        give(store, name.to_owned(), read);
    };
    view! {
        <details>
            <summary>{tr!(store, data.paste)}</summary>
            <textarea
                rows="4"
                spellcheck="false"
                aria-label=tr!(store, data.paste)
                prop:value=move || text.get()
                on:input=move |event| text.set(event_target_value(&event))
            ></textarea>
            <button type="button" on:click=take>{tr!(store, data.paste_use)}</button>
        </details>
    }
}

/// Reads a file that was dropped or picked. Its size is judged before it is read.
fn take_file(store: Store, file: web_sys::File) {
    let name = file.name();
    // A size is a whole number far below 2^53.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "said above")]
    let size = file.size() as u64;
    if let Err(error) = check_size(size) {
        give(store, name, Err(error));
        return;
    }
    let blob = gloo_file::Blob::from(file.unchecked_into::<web_sys::Blob>());
    leptos::task::spawn_local(async move {
        // What the browser cannot read any more is as good as empty.
        let bytes = read_as_bytes(&blob).await.unwrap_or_default();
        give(store, name, read_file(&bytes));
    });
}

/// The form follows the file: its name says how it is read.
fn give(store: Store, name: String, text: Result<String, DataError>) {
    match text {
        Ok(text) => {
            let json = [".jsonl", ".ndjson", ".json"]
                .iter()
                .any(|end| name.to_lowercase().ends_with(end));
            let kind = if json { "jsonl" } else { "text" };
            store.dispatch_all([
                Msg::OwnFile(Ok(OwnFile {
                    name,
                    text: text.into(),
                })),
                Msg::Edit(Key::Data, kind.to_owned()),
            ]);
        }
        Err(error) => store.dispatch(Msg::OwnFile(Err(error))),
    }
}
