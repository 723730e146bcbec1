//! What the run leaves behind: groups ended, partial, skipped; examples left out; the journal as a file.

use leptos::prelude::*;

use super::group_view::write_ids;
use crate::{
    batch::ExampleId,
    lab::{Recording, written::journal_of},
    protocol::{GroupRow, Outcome, RunId},
    ui::{
        browser, format,
        store::{Store, use_store},
        text::{Locale, td_string, tr},
        turns::Turn,
    },
};

/// The media type of the journal.
pub(super) const JSON_LINES: &str = "application/jsonl";

/// So many of the newest partial or skipped groups are named.
const NAMED: usize = 4;

/// Counted on from group to group, so that a long run costs no more than its news.
#[derive(Clone, Debug, Default, PartialEq)]
struct Tally {
    run: RunId,
    groups: usize,
    partial: Noted,
    skipped: Noted,
    dropped: Noted,
}

/// How many, and the newest of them with their IDs.
#[derive(Clone, Debug, Default, PartialEq)]
struct Noted {
    count: u64,
    newest: Vec<(u64, String)>,
}

impl Noted {
    fn note(&mut self, group: u64, count: usize, ids: &[ExampleId]) {
        self.count += count as u64;
        self.newest
            .push((group, write_ids(ids.iter().map(|id| id.0.to_string()))));
        if self.newest.len() > NAMED {
            self.newest.remove(0);
        }
    }
}

impl Tally {
    fn follow(mut self, recording: &Recording) -> Self {
        if self.run != recording.run {
            self = Self {
                run: recording.run,
                ..Self::default()
            };
        }
        for row in recording.groups.iter().skip(self.groups) {
            self.add(row);
        }
        self.groups = recording.groups.len();
        self
    }

    fn add(&mut self, row: &GroupRow) {
        let number = row.plan.number + 1;
        let ids = || {
            row.plan
                .microbatches
                .iter()
                .flat_map(|k| k.ids.iter().copied())
                .collect::<Vec<_>>()
        };
        if row.plan.partial {
            self.partial.note(number, 1, &ids());
        }
        if row.lanes.iter().any(|lane| lane.ended() != Outcome::Applied) {
            self.skipped.note(number, 1, &ids());
        }
        if !row.dropped.is_empty() {
            self.dropped.note(number, row.dropped.len(), &row.dropped);
        }
    }
}

/// The journal strip.
#[component]
pub fn JournalPanel() -> impl IntoView {
    let store = use_store();
    let ended = store.ended_in(Turn::Tables);
    let tally = Memo::new(move |before: Option<&Tally>| {
        // Read, not only followed: a memo that nobody reads never looks at what it is made of.
        ended.get();
        let before = before.cloned().unwrap_or_default();
        store.peek(|lab| {
            lab.recording
                .as_ref()
                .map_or_else(Tally::default, |recording| before.follow(recording))
        })
    });
    let noted = move |read: fn(&Tally) -> &Noted| move || tally.with(|tally| words(store.locale.get(), read(tally)));
    view! {
        <section class="panel journal-panel" aria-labelledby="journal-title">
            <header class="panel-head">
                <h2 id="journal-title">{tr!(store, journal.title)}</h2>
                <ExportButton />
            </header>
            <p class="about">{tr!(store, kept.numbering)}</p>
            <dl class="table-list">
                <dt>{tr!(store, journal.groups)}</dt>
                <dd>{move || format::count(tally.with(|tally| tally.groups) as u64)}</dd>
                <dt>{tr!(store, journal.partial)}</dt>
                <dd>{noted(|tally| &tally.partial)}</dd>
                <dt>{tr!(store, journal.skipped)}</dt>
                <dd>{noted(|tally| &tally.skipped)}</dd>
                <dt>{tr!(store, journal.dropped)}</dt>
                <dd>{noted(|tally| &tally.dropped)}</dd>
            </dl>
        </section>
    }
}

/// The whole journal as a file.
#[component]
fn ExportButton() -> impl IntoView {
    let store = use_store();
    let empty = store.memo(|lab| {
        lab.recording
            .as_ref()
            .is_none_or(|recording| recording.groups.is_empty())
    });
    view! {
        <button type="button" prop:disabled=move || empty.get() on:click=move |_| export(store)>
            {tr!(store, journal.export)}
        </button>
    }
}

fn export(store: Store) {
    let text = store.peek(|lab| lab.recording.as_ref().and_then(journal_of));
    if let Some(text) = text {
        browser::download("journal.jsonl", JSON_LINES, &text);
    }
}

fn words(locale: Locale, noted: &Noted) -> String {
    if noted.count == 0 {
        return td_string!(locale, journal.none).to_owned();
    }
    let groups = noted.newest.iter().map(|(number, ids)| {
        td_string!(
            locale,
            journal.group_ids,
            number = format::count(*number),
            ids = ids.clone()
        )
        .to_string()
    });
    let groups = groups.collect::<Vec<_>>().join("; ");
    format!("{} ({groups})", format::count(noted.count))
}
