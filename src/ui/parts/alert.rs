//! What a person must know at once, until they dismiss it.

use leptos::prelude::*;

use crate::ui::{browser, store::use_store, text::tr};

/// Where the focus goes when an alert that had it is gone: to the next alert, else to the first thing one does.
const NEXT: &[&str] = &[".alert button", ".transport button"];

/// A message with a way to dismiss it and, where there is one, a way out.
#[component]
pub fn Alert(
    /// What is said.
    #[prop(into)]
    message: Signal<String>,
    /// Read and done with.
    on_dismiss: Callback<()>,
    /// Further buttons.
    #[prop(optional)]
    children: Option<Children>,
) -> impl IntoView {
    let store = use_store();
    view! {
        <div class="alert" role="alert">
            <p>{move || message.get()}</p>
            <div class="alert-actions" on:click=move |_| browser::keep_focus(NEXT)>
                {children.map(|children| children())}
                <button type="button" on:click=move |_| on_dismiss.run(())>
                    {tr!(store, app.dismiss)}
                </button>
            </div>
        </div>
    }
}
