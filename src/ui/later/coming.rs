//! How far the later parts of the page have come, and what stands in their place meanwhile.

use std::{future::Future, pin::Pin, time::Duration};

use leptos::prelude::*;

use super::{Later, Part};
use crate::ui::{parts::try_again::TryAgain, store::use_store, text::tr, turns::after_frame};

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
    /// How many parts the page has asked for.
    asked: StoredValue<usize>,
    /// How many of them are drawn, in the order they were asked for.
    drawn: RwSignal<usize>,
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
            asked: StoredValue::new(0),
            drawn: RwSignal::new(usize::MAX),
            fetch: None,
        }
    }

    /// They are fetched as soon as the page is painted, so that a fold opened after that shows what it holds at once.
    pub fn after_paint(fetch: Fetch) -> Self {
        let coming = Self {
            stand: RwSignal::new(Stand::Fetching),
            asked: StoredValue::new(0),
            drawn: RwSignal::new(0),
            fetch: Some(fetch),
        };
        after_frame(Duration::ZERO, move || coming.fetch());
        coming
    }

    fn fetch(self) {
        let Some(fetch) = self.fetch else { return };
        self.stand.try_set(Stand::Fetching);
        leptos::task::spawn_local(async move {
            match fetch().await {
                Some(later) => {
                    self.stand.try_set(Stand::Here(later));
                    self.draw();
                }
                None => drop(self.stand.try_set(Stand::Failed)),
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
            _ => drop(self.drawn.try_set(usize::MAX)),
        }
    }

    fn shown(self, place: usize) -> Shown {
        match self.stand.get() {
            Stand::Failed => Shown::Failed,
            Stand::Here(_) if place < self.drawn.get() => Shown::Here,
            Stand::Here(_) | Stand::Fetching => Shown::Fetching,
        }
    }
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
    let view = move || match (shown.get(), coming.stand.get_untracked()) {
        (Shown::Here, Stand::Here(later)) => (later.draw)(part),
        (Shown::Failed, _) => view! { <TryAgain on_again=Callback::new(move |()| coming.fetch()) /> }.into_any(),
        _ => view! { <p class="about">{tr!(store, later.fetching)}</p> }.into_any(),
    };
    view.into_any()
}
