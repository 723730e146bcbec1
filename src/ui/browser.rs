//! The few things that are asked of the browser itself. Whatever it refuses is done without.

use std::time::Duration;

use js_sys::{Array, Uint8Array};
use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, BlobPropertyBag, Element, HtmlAnchorElement, Response, Url};

/// The part of the address after `#`, without it.
pub(crate) fn hash() -> String {
    let hash = window().location().hash().unwrap_or_default();
    hash.trim_start_matches('#').to_owned()
}

/// Changes the part after `#` without a step in the history.
pub(crate) fn replace_hash(link: &str) {
    let url = format!("#{link}");
    let history = window().history();
    if let Ok(history) = history {
        // A page opened from a file may not do this; the link button still works.
        let _ = history.replace_state_with_url(&wasm_bindgen::JsValue::NULL, "", Some(&url));
    }
}

/// The whole address with this part after `#`.
pub(crate) fn address_with(link: &str) -> String {
    let here = window().location().href().unwrap_or_default();
    let base = here.split('#').next().unwrap_or_default();
    format!("{base}#{link}")
}

/// Whether nobody sees the page.
pub(crate) fn hidden() -> bool {
    document().hidden()
}

/// Offers `text` as a file.
pub(crate) fn download(name: &str, kind: &str, text: &str) {
    let parts = Array::of1(&Uint8Array::from(text.as_bytes()));
    let options = BlobPropertyBag::new();
    options.set_type(kind);
    let Ok(blob) = Blob::new_with_u8_array_sequence_and_options(&parts, &options) else {
        return;
    };
    let Ok(url) = Url::create_object_url_with_blob(&blob) else {
        return;
    };
    if let Ok(anchor) = document()
        .create_element("a")
        .map(wasm_bindgen::JsCast::unchecked_into::<HtmlAnchorElement>)
    {
        anchor.set_href(&url);
        anchor.set_download(name);
        anchor.click();
    }
    let _ = Url::revoke_object_url(&url);
}

/// Puts `text` on the clipboard; false where the browser does not allow it.
pub(crate) async fn copy(text: &str) -> bool {
    let clipboard = js_sys::Reflect::get(&window().navigator(), &"clipboard".into());
    let Ok(clipboard) = clipboard else { return false };
    let write = js_sys::Reflect::get(&clipboard, &"writeText".into())
        .ok()
        .and_then(|f| f.dyn_into::<js_sys::Function>().ok());
    let Some(write) = write else { return false };
    let Ok(promise) = write.call1(&clipboard, &text.into()) else {
        return false;
    };
    match promise.dyn_into::<js_sys::Promise>() {
        Ok(promise) => JsFuture::from(promise).await.is_ok(),
        Err(_) => false,
    }
}

/// What the document says of `name` in a `<meta>`.
pub(crate) fn named(name: &str) -> Option<String> {
    let meta = document().query_selector(&format!("meta[name={name}]")).ok().flatten();
    meta?.get_attribute("content")
}

/// The text of the file at `address`, relative to the document; `None` where it cannot be had.
pub(crate) async fn text_of(address: &str) -> Option<String> {
    let response = JsFuture::from(window().fetch_with_str(address)).await.ok()?;
    let response = response.dyn_into::<Response>().ok().filter(Response::ok)?;
    let text = JsFuture::from(response.text().ok()?).await.ok()?.as_string()?;
    // A host may give a page of its own for what it has not; no text that is asked for begins like one.
    (!text.starts_with('<')).then_some(text)
}

/// Remembers `text` under `name` for the next visit.
pub(crate) fn remember(name: &str, text: &str) {
    if let Ok(Some(storage)) = window().local_storage() {
        let _ = storage.set_item(name, text);
    }
}

/// What was remembered under `name`.
pub(crate) fn recall(name: &str) -> Option<String> {
    window().local_storage().ok().flatten()?.get_item(name).ok().flatten()
}

/// Sets an attribute of the page's root element.
pub(crate) fn set_root(name: &str, value: &str) {
    if let Some(root) = document().document_element() {
        let _ = root.set_attribute(name, value);
    }
}

/// Puts the focus on the element called `id` once what was just changed is drawn.
pub(crate) fn focus_soon(id: String) {
    set_timeout(
        move || {
            let element = document().get_element_by_id(&id);
            if let Some(element) = element.and_then(|e| e.dyn_into::<web_sys::HtmlElement>().ok()) {
                let _ = element.focus();
            }
        },
        Duration::ZERO,
    );
}

/// Opens whatever folds over the first thing that one of `selectors` finds, and puts the focus on it. False where nothing is found.
pub(crate) fn reveal(selectors: &[String]) -> bool {
    let mut found = selectors
        .iter()
        .filter_map(|one| document().query_selector(one).ok().flatten());
    let Some(element) = found.next() else { return false };
    let mut fold = element.closest("details").ok().flatten();
    while let Some(details) = fold {
        // Fails for no attribute that HTML knows.
        let _ = details.set_attribute("open", "");
        let above = details.parent_element();
        fold = above.and_then(|above| above.closest("details").ok().flatten());
    }
    if let Ok(element) = element.dyn_into::<web_sys::HtmlElement>() {
        let _ = element.focus();
    }
    true
}

/// Whether nothing has the focus.
pub(crate) fn focus_lost() -> bool {
    document()
        .active_element()
        .is_none_or(|e| e.tag_name().eq_ignore_ascii_case("body"))
}

/// Whether this element has the focus.
pub(crate) fn has_focus(element: &Element) -> bool {
    document().active_element().is_some_and(|active| active == *element)
}

/// Whether the focus is on, or in, what this selector finds.
pub(crate) fn focus_within(selector: &str) -> bool {
    let active = document().active_element();
    active.is_some_and(|active| active.closest(selector).ok().flatten().is_some())
}

/// Once what takes the place of `old` is drawn, puts the focus on the first of it that can be seen, unless a person put it elsewhere.
pub(crate) fn focus_in_place_of(old: &Element) {
    let (before, within) = (old.previous_element_sibling(), old.parent_element());
    set_timeout(
        move || {
            let mut next = match before {
                Some(before) => before.next_element_sibling(),
                None => within.and_then(|within| within.first_element_child()),
            };
            while let Some(element) = next.take_if(|_| focus_lost()) {
                next = element.next_element_sibling();
                if let Ok(element) = element.dyn_into::<web_sys::HtmlElement>() {
                    // Without an index of its own most of what is drawn would take no focus.
                    if !element.has_attribute("tabindex") {
                        element.set_tab_index(-1);
                    }
                    let _ = element.focus();
                }
            }
        },
        Duration::ZERO,
    );
}

/// Puts the focus on what the first of `selectors` finds that finds anything, if it was lost: what had it is gone once the change
/// is drawn.
pub(crate) fn keep_focus(selectors: &'static [&'static str]) {
    set_timeout(
        move || {
            let found = selectors
                .iter()
                .find_map(|one| document().query_selector(one).ok().flatten());
            let next = found.filter(|_| focus_lost());
            if let Some(next) = next.and_then(|e| e.dyn_into::<web_sys::HtmlElement>().ok()) {
                let _ = next.focus();
            }
        },
        Duration::ZERO,
    );
}

/// Whether there is room for two columns; the same width as in layout.css.
pub(crate) fn wide() -> bool {
    let query = window().match_media("(min-width: 56.01rem)").ok().flatten();
    query.is_none_or(|query| query.matches())
}
