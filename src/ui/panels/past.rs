//! The last few runs: how far they came, and what the form does otherwise now.

use leptos::prelude::*;

use super::journal::JSON_LINES;
use crate::{
    lab::{Msg, PastRun, past::JOURNAL_BYTES},
    protocol::RunId,
    setup::{Draft, diff::Change},
    ui::{
        browser, format,
        parts::lane_mark::LaneMark,
        store::{Store, use_store},
        text::{Locale, td_string, tr},
        words::fields,
    },
};

/// What is told of a run.
#[derive(Clone, Debug, PartialEq)]
struct Told {
    run: RunId,
    draft: Draft,
    updates: u64,
    losses: Vec<String>,
    changes: Vec<Change>,
    /// Whether its journal is still there.
    journal: bool,
}

impl Told {
    fn of(past: &PastRun, now: &Draft) -> Self {
        let updates = past.lanes.first().and_then(|lane| lane.counters.last());
        let losses = past
            .lanes
            .iter()
            .map(|lane| lane.weighted.last().copied().map_or_else(String::new, format::loss));
        Self {
            run: past.run,
            draft: past.draft.clone(),
            updates: updates.map_or(0, |counters| counters.applied_updates),
            losses: losses.collect(),
            changes: past.changes_to(now),
            journal: past.journal.is_some(),
        }
    }
}

/// Nothing is shown before a second run.
#[component]
pub fn PastRuns() -> impl IntoView {
    let store = use_store();
    let told = store.memo(|lab| {
        let now = &lab.blueprint.draft;
        lab.past.runs().map(|past| Told::of(past, now)).collect::<Vec<_>>()
    });
    view! {
        <section class="panel past-panel" aria-labelledby="past-title" hidden=move || told.with(Vec::is_empty)>
            <h2 id="past-title">{tr!(store, past.title)}</h2>
            <p class="about">
                {move || td_string!(store.locale.get(), kept.about, most = format::bytes(store.locale.get(), JOURNAL_BYTES)).to_string()}
            </p>
            <ul>
                <For each=move || told.get() key=|told| (told.run, told.changes.clone(), told.journal) let(told)>
                    <PastLine told=told />
                </For>
            </ul>
        </section>
    }
}

#[component]
fn PastLine(told: Told) -> impl IntoView {
    let store = use_store();
    let Told {
        run,
        draft,
        updates,
        losses,
        changes,
        journal,
    } = told;
    let same = changes.is_empty();
    view! {
        <li>
            <strong>{move || td_string!(store.locale.get(), past.run, n = run.0).to_string()}</strong>
            <span>{move || td_string!(store.locale.get(), past.updates, count = updates).to_string()}</span>
            <span class="past-losses" title=tr!(store, past.last)>
                {losses
                    .into_iter()
                    .enumerate()
                    .map(|(lane, loss)| view! { <span><LaneMark lane=lane />" "{loss}</span> })
                    .collect_view()}
            </span>
            <span class="about">
                {move || {
                    let locale = store.locale.get();
                    if same { td_string!(locale, past.same).to_owned() } else { format!("{} {}", td_string!(locale, past.differs), in_words(locale, &changes)) }
                }}
            </span>
            <button type="button" hidden=same on:click=move |_| store.dispatch(Msg::Replace(draft.clone()))>
                {tr!(store, past.restore)}
            </button>
            {if journal {
                view! {
                    <button type="button" on:click=move |_| export(store, run)>
                        {move || td_string!(store.locale.get(), kept.download, n = run.0).to_string()}
                    </button>
                }
                    .into_any()
            } else {
                view! { <span class="about">{tr!(store, kept.gone)}</span> }.into_any()
            }}
        </li>
    }
}

/// `Learning rate: 0.003 → 0.01`, by the names that the form uses.
fn in_words(locale: Locale, changes: &[Change]) -> String {
    let side = |text: &Option<String>| text.clone().unwrap_or_else(|| "–".to_owned());
    let changes = changes.iter().map(|change| {
        let label = fields::label(locale, change.key);
        format!("{label}: {} → {}", side(&change.before), side(&change.after))
    });
    // Labels have commas of their own.
    changes.collect::<Vec<_>>().join("; ")
}

/// The journal of an earlier run as a file.
fn export(store: Store, run: RunId) {
    let text = store.peek(|lab| {
        let mut runs = lab.past.runs().filter(|past| past.run == run);
        Some(runs.next()?.journal.as_ref()?.text())
    });
    if let Some(text) = text {
        browser::download(&format!("journal-run-{}.jsonl", run.0), JSON_LINES, &text);
    }
}
