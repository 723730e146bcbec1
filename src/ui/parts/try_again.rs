//! What stands in the place of something that could not be fetched.

use leptos::prelude::*;

use crate::ui::{store::use_store, text::tr};

/// What to do about it, and a button that asks for it again.
#[component]
pub fn TryAgain(
    /// Asks again.
    on_again: Callback<()>,
) -> impl IntoView {
    let store = use_store();
    view! {
        <div class="later-failed">
            <p class="failed" role="status">{tr!(store, later.failed)}</p>
            <button type="button" on:click=move |_| on_again.run(())>{tr!(store, fault.try_again)}</button>
        </div>
    }
}
