//! How long examples are.

use leptos::{html, prelude::*};
use wasm_bindgen::JsCast as _;

use super::preview::{Histogram, Preview};
use crate::{
    data::{DataError, check_size, parse_lengths_file, read_file},
    lab::Msg,
    setup::Key,
    ui::{
        later::{Part, coming::part},
        parts::field::{ChoiceField, Keyboard, TextField, Words},
        store::{Store, use_store},
        text::{td_string, tr},
        words,
    },
};

const KINDS: &[(&str, Words)] = &[
    ("data", |l| td_string!(l, lengths.data)),
    ("list", |l| td_string!(l, lengths.list)),
    ("uniform", |l| td_string!(l, lengths.uniform)),
    ("log_normal", |l| td_string!(l, lengths.log_normal)),
    ("two_humped", |l| td_string!(l, lengths.two_humped)),
];

/// The rule, its numbers, and what it comes to.
#[component]
pub fn LengthFields(
    /// What the data comes to.
    preview: Preview,
) -> impl IntoView {
    let kind = use_store().field(Key::Lengths);
    view! {
        <ChoiceField key=Key::Lengths label=|l| td_string!(l, lengths.kind) options=KINDS />
        <TextField key=Key::LengthList label=|l| td_string!(l, lengths.list_label) keyboard=Keyboard::Text />
        <div class="lengths-file" hidden=move || kind.with(|kind| kind != "list")>
            {part(Part::LengthsFile)}
        </div>
        <div class="three">
            <TextField key=Key::LengthMin label=|l| td_string!(l, lengths.min) />
            <TextField key=Key::LengthMax label=|l| td_string!(l, lengths.max) />
            <TextField key=Key::LengthMedian label=|l| td_string!(l, lengths.median) />
            <TextField key=Key::LengthSigma label=|l| td_string!(l, lengths.sigma) keyboard=Keyboard::Decimal />
            <TextField key=Key::LengthShort label=|l| td_string!(l, lengths.short) />
            <TextField key=Key::LengthLong label=|l| td_string!(l, lengths.long) />
            <TextField key=Key::LengthLongShare label=|l| td_string!(l, lengths.long_share) keyboard=Keyboard::Decimal />
        </div>
        <Histogram preview=preview />
    }
}

/// A file of lengths fills the typed list; one that cannot be read is told here.
#[component]
pub fn LengthsFile() -> impl IntoView {
    let store = use_store();
    let list = store.field(Key::LengthList);
    let refused = RwSignal::new(None::<DataError>);
    // What was typed or read after it needs that file no more.
    Effect::watch(move || list.track(), move |(), _, _| refused.set(None), false);
    let pick = NodeRef::<html::Input>::new();
    let picked = move |_| {
        if let Some(input) = pick.get() {
            if let Some(file) = input.files().and_then(|files| files.get(0)) {
                take_file(store, file, refused);
            }
            input.set_value("");
        }
    };
    view! {
        <label class="file-pick">
            <span>{tr!(store, lengths.from_file)}</span>
            <input
                type="file"
                accept=".txt,.csv,text/plain"
                aria-describedby="lengths-file-error"
                aria-invalid=move || refused.with(Option::is_some).then_some("true")
                node_ref=pick
                on:change=picked
            />
        </label>
        <p class="field-error" id="lengths-file-error" role="status">
            {move || refused.with(|error| error.as_ref().map(|error| words::fault::data(store.locale.get(), error)))}
        </p>
    }
}

fn take_file(store: Store, file: web_sys::File, refused: RwSignal<Option<DataError>>) {
    // A size is a whole number far below 2^53.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "said above")]
    let size = file.size() as u64;
    let blob = gloo_file::Blob::from(file.unchecked_into::<web_sys::Blob>());
    leptos::task::spawn_local(async move {
        let lengths = async {
            check_size(size)?;
            let bytes = gloo_file::futures::read_as_bytes(&blob).await.unwrap_or_default();
            parse_lengths_file(&read_file(&bytes)?)
        };
        match lengths.await {
            Ok(lengths) => {
                refused.set(None);
                let list = lengths.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                store.dispatch(Msg::Edit(Key::LengthList, list));
            }
            Err(error) => refused.set(Some(error)),
        }
    });
}
