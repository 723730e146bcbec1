//! A panel that is closed until it is wanted. Closed, it holds nothing and computes nothing.

use leptos::prelude::*;
use wasm_bindgen::JsCast as _;

use crate::ui::{store::use_store, turns::Turn};

/// A section with a heading that opens it.
#[component]
pub fn Fold(
    /// The element ID of its heading.
    id: &'static str,
    /// The heading.
    #[prop(into)]
    title: Signal<&'static str>,
    /// Opens it whenever this becomes true; from then on the person opens and closes it.
    #[prop(optional, into)]
    applies: Signal<bool>,
    /// When a run's news reach what it holds.
    #[prop(optional)]
    turn: Option<Turn>,
    /// What it holds while it is open.
    children: ChildrenFn,
) -> impl IntoView {
    let store = use_store();
    let open = RwSignal::new(applies.get_untracked());
    Effect::watch(
        move || applies.get(),
        move |applies, before, _| {
            if *applies && before != Some(applies) {
                open.set(true);
            }
        },
        false,
    );
    let body = move || {
        open.get().then(|| {
            if let Some(turn) = turn {
                store.hold(turn);
            }
            view! { <div class="fold-body">{children()}</div> }
        })
    };
    view! {
        <section class="panel fold" aria-labelledby=id>
            <details prop:open=move || open.get() on:toggle=move |event| open.set(is_open(&event))>
                <summary>
                    <h2 id=id>{move || title.get()}</h2>
                </summary>
                {body}
            </details>
        </section>
    }
}

/// Whether the element that was opened or closed is open now.
pub(super) fn is_open(event: &leptos::ev::Event) -> bool {
    let element = event
        .target()
        .and_then(|target| target.dyn_into::<web_sys::Element>().ok());
    element.is_some_and(|element| element.has_attribute("open"))
}
