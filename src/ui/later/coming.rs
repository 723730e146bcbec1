//! How far the later parts of the page have come, and what stands in their place meanwhile.

use std::{future::Future, pin::Pin, time::Duration};

use leptos::prelude::*;

use super::{Later, Part};
use crate::ui::{store::use_store, text::tr, turns::after_frame};

/// Fetches the later parts; `None` where they could not be had. It can be asked again.
pub type Fetch = fn() -> Pin<Box<dyn Future<Output = Option<Later>>>>;

#[derive(Clone, Copy)]
enum Stand {
    Fetching,
    Here(Later),
    Failed,
}

/// The later parts of one page.
#[derive(Clone, Copy)]
pub struct Coming {
    stand: RwSignal<Stand>,
    fetch: Option<Fetch>,
}

impl std::fmt::Debug for Coming {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Coming").finish_non_exhaustive()
    }
}

impl Coming {
    /// They are there from the start.
    pub fn at_once(later: Later) -> Self {
        Self {
            stand: RwSignal::new(Stand::Here(later)),
            fetch: None,
        }
    }

    /// They are fetched as soon as the page is painted, so that a fold opened after that shows what it holds at once.
    pub fn after_paint(fetch: Fetch) -> Self {
        let coming = Self {
            stand: RwSignal::new(Stand::Fetching),
            fetch: Some(fetch),
        };
        after_frame(Duration::ZERO, move || coming.fetch());
        coming
    }

    fn fetch(self) {
        let Some(fetch) = self.fetch else { return };
        self.stand.try_set(Stand::Fetching);
        leptos::task::spawn_local(async move {
            self.stand.try_set(fetch().await.map_or(Stand::Failed, Stand::Here));
        });
    }
}

/// A part of the page once it is there; until then, how it stands with it.
pub fn part(part: Part) -> AnyView {
    let store = use_store();
    let coming = use_context::<Coming>();
    let shown = move || {
        let coming = coming?;
        Some(match coming.stand.get() {
            Stand::Here(later) => (later.draw)(part),
            Stand::Fetching => view! { <p class="about">{tr!(store, later.fetching)}</p> }.into_any(),
            Stand::Failed => view! {
                <div class="later-failed">
                    <p class="failed" role="status">{tr!(store, later.failed)}</p>
                    <button type="button" on:click=move |_| coming.fetch()>{tr!(store, fault.try_again)}</button>
                </div>
            }
            .into_any(),
        })
    };
    shown.into_any()
}
