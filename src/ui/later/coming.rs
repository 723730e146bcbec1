//! How far the later parts of the page have come, and what stands in their place meanwhile.

use std::{future::Future, pin::Pin, time::Duration};

use leptos::{html, prelude::*};
use wasm_bindgen::JsCast as _;

use super::{Later, Part};
use crate::{
    setup::Key,
    ui::{
        browser,
        parts::field::{field_selectors, section_of, stand_in_selectors},
        store::use_store,
        text::{td_string, tr},
        turns::after_frame,
    },
};

/// Fetches the later parts; `None` where they could not be had. It can be asked again.
pub type Fetch = fn() -> Pin<Box<dyn Future<Output = Option<Later>>>>;

/// So many parts are drawn in one task: all of them would hold up the page.
const AT_ONCE: usize = 3;

#[derive(Clone, Copy)]
enum Stand {
    Fetching,
    Here(Later),
    Failed,
}

/// How it stands with one part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Fetching,
    Here,
    Failed,
}

/// The later parts of one page.
#[derive(Clone, Copy)]
pub struct Coming {
    stand: RwSignal<Stand>,
    /// A person asked for them again. What says that they failed stays until they are drawn, and with it the button that was pressed.
    again: RwSignal<bool>,
    /// How many parts the page has asked for.
    asked: StoredValue<usize>,
    /// How many of them are drawn, in the order they were asked for.
    drawn: RwSignal<usize>,
    /// A field that a person was to be led to, but that is not drawn yet.
    wanted: StoredValue<Option<Key>>,
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
        Self::new(Stand::Here(later), usize::MAX, None)
    }

    /// They are fetched as soon as the page is painted, so that a fold opened after that shows what it holds at once.
    pub fn after_paint(fetch: Fetch) -> Self {
        let coming = Self::new(Stand::Fetching, 0, Some(fetch));
        after_frame(Duration::ZERO, move || coming.fetch());
        coming
    }

    fn new(stand: Stand, drawn: usize, fetch: Option<Fetch>) -> Self {
        Self {
            stand: RwSignal::new(stand),
            again: RwSignal::new(false),
            asked: StoredValue::new(0),
            drawn: RwSignal::new(drawn),
            wanted: StoredValue::new(None),
            fetch,
        }
    }

    /// Leads to a field: opens what folds over it and puts the focus on it. Where its part is not there yet, the focus goes to what stands
    /// in for it, and on to the field once that is drawn.
    pub fn reveal(self, key: Key) {
        if browser::reveal(&field_selectors(key)) {
            return;
        }
        browser::reveal(&stand_in_selectors(key));
        if self.drawn.get_untracked() != usize::MAX {
            self.wanted.set_value(Some(key));
        }
    }

    fn ask_again(self) {
        if matches!(self.stand.get_untracked(), Stand::Failed) {
            self.again.set(true);
            self.fetch();
        }
    }

    fn fetch(self) {
        let Some(fetch) = self.fetch else { return };
        self.stand.try_set(Stand::Fetching);
        leptos::task::spawn_local(async move {
            if let Some(later) = fetch().await {
                self.stand.try_set(Stand::Here(later));
                self.draw();
            } else {
                self.stand.try_set(Stand::Failed);
                self.again.try_set(false);
            }
        });
    }

    /// A few parts more. Once those that wait are drawn, each is drawn when it is asked for.
    fn draw(self) {
        let waiting = self.asked.try_get_value().unwrap_or(0);
        let drawn = self.drawn.try_update(|drawn| {
            *drawn = drawn.saturating_add(AT_ONCE);
            *drawn
        });
        match drawn {
            Some(drawn) if drawn < waiting => after_frame(Duration::ZERO, move || self.draw()),
            _ => {
                self.drawn.try_set(usize::MAX);
                self.again.try_set(false);
                self.lead_on();
            }
        }
    }

    /// To the field that a person was to be led to, unless they went elsewhere meanwhile.
    fn lead_on(self) {
        let wanted = self.wanted.try_update_value(Option::take).flatten();
        let Some(key) = wanted else { return };
        // Not before what was asked for last is drawn, and has its focus.
        after_frame(Duration::ZERO, move || {
            if browser::focus_lost() || browser::focus_within(&section_of(key)) {
                browser::reveal(&field_selectors(key));
            }
        });
    }

    fn shown(self, place: usize) -> Shown {
        match self.stand.get() {
            Stand::Failed => Shown::Failed,
            Stand::Here(_) if place < self.drawn.get() => Shown::Here,
            Stand::Here(_) | Stand::Fetching if self.again.get() => Shown::Failed,
            Stand::Here(_) | Stand::Fetching => Shown::Fetching,
        }
    }
}

/// Tells of a failure, and of the next try, once for the whole page. Always in the page, so that a screen reader announces it; what stands
/// in the place of each part is silent.
#[component]
pub fn ComingStatus() -> impl IntoView {
    let store = use_store();
    let coming = use_context::<Coming>();
    let text = move || {
        let (coming, locale) = (coming?, store.locale.get());
        if coming.again.get() {
            Some(td_string!(locale, later.fetching))
        } else {
            let failed = coming.stand.with(|stand| matches!(stand, Stand::Failed));
            failed.then(|| td_string!(locale, later.some_failed))
        }
    };
    view! { <p class="sr-only later-status" role="status">{text}</p> }
}

/// A part of the page once it is there; until then, how it stands with it.
pub fn part(part: Part) -> AnyView {
    let store = use_store();
    let Some(coming) = use_context::<Coming>() else {
        return ().into_any();
    };
    let place = coming.asked.get_value();
    coming.asked.set_value(place + 1);
    let shown = Memo::new(move |_| coming.shown(place));
    let button = NodeRef::<html::Button>::new();
    let view = move || match (shown.get(), coming.stand.get_untracked()) {
        (Shown::Here, Stand::Here(later)) => {
            pass_focus(button);
            (later.draw)(part)
        }
        (Shown::Failed, _) => view! { <Failed coming=coming button=button /> }.into_any(),
        _ => view! { <p class="about">{tr!(store, later.fetching)}</p> }.into_any(),
    };
    view.into_any()
}

/// What to do about a part that did not come, and how it stands once that is done.
#[component]
fn Failed(coming: Coming, button: NodeRef<html::Button>) -> impl IntoView {
    let store = use_store();
    let again = coming.again;
    let text = move || {
        let locale = store.locale.get();
        if again.get() {
            td_string!(locale, later.fetching)
        } else {
            td_string!(locale, later.failed)
        }
    };
    view! {
        <div class="later-failed">
            <p class=move || if again.get() { "about" } else { "failed" }>{text}</p>
            <button
                type="button"
                node_ref=button
                aria-disabled=move || again.get().then_some("true")
                on:click=move |_| coming.ask_again()
            >
                {tr!(store, fault.try_again)}
            </button>
        </div>
    }
}

/// Where the button that asks again has the focus and is about to go, the focus goes to what is drawn in its place.
fn pass_focus(button: NodeRef<html::Button>) {
    let Some(button) = button.try_get_untracked().flatten() else {
        return;
    };
    let place = button.closest(".later-failed").ok().flatten();
    if let Some(place) = place.filter(|_| browser::has_focus(button.unchecked_ref())) {
        browser::focus_in_place_of(&place);
    }
}
