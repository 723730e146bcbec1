//! What was measured of memory: the first and the last group side by side, and the peak over groups.

use leptos::prelude::*;

use super::fold::Fold;
use crate::{
    chart::Kind,
    lab::{Recording, memory::FirstAndLast},
    protocol::{MemoryRow, MemorySource, Phase, PhaseBytes},
    ui::{
        charts::{ChartLane, ChartWords, Feed, LineChart, Version},
        format,
        later::{Part, coming::part},
        parts::lane_mark::LaneMark,
        store::{Store, use_store},
        text::{Locale, td_string, tr},
        turns::Turn,
    },
};

const MIB: f64 = 1024.0 * 1024.0;

/// What is told of a run's memory.
#[derive(Clone, Debug, PartialEq)]
struct Told {
    source: Option<MemorySource>,
    /// In use and reserved when the run was built.
    built: Option<(String, String)>,
    groups: Option<Groups>,
}

#[derive(Clone, Debug, PartialEq)]
struct Groups {
    numbers: [String; 2],
    lines: Vec<(What, [String; 2])>,
}

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Phase(Phase, Option<u32>),
    InUse,
    Reserved,
    Peak,
}

impl Told {
    fn of(locale: Locale, recording: &Recording) -> Self {
        let built = recording.facts.as_ref().and_then(|facts| facts.memory.as_ref());
        let both = FirstAndLast::of(recording);
        let measured = both.as_ref().map(|both| both.last.1.source);
        Self {
            source: measured.or(built.map(|built| built.source)),
            built: built.map(|built| (format::bytes(locale, built.in_use), reserved(locale, built))),
            groups: both.as_ref().map(|both| Groups::of(locale, both)),
        }
    }
}

impl Groups {
    fn of(locale: Locale, both: &FirstAndLast<'_>) -> Self {
        let phase = |bytes: Option<PhaseBytes>| bytes.map_or_else(|| "–".to_owned(), |bytes| on_top(locale, bytes));
        let mut lines: Vec<(What, [String; 2])> = both
            .lines()
            .into_iter()
            .map(|line| {
                (
                    What::Phase(line.phase, line.replica),
                    [phase(line.first), phase(line.last)],
                )
            })
            .collect();
        let rows = [both.first.1, both.last.1];
        lines.push((What::InUse, rows.map(|row| format::bytes(locale, row.in_use))));
        lines.push((What::Reserved, rows.map(|row| reserved(locale, row))));
        lines.push((What::Peak, rows.map(|row| format::bytes(locale, row.peak))));
        Self {
            numbers: [both.first.0, both.last.0].map(|number| format::count(number + 1)),
            lines,
        }
    }
}

/// `12 MiB (+4 MiB)`: the peak, and what it lay above what was in use before.
fn on_top(locale: Locale, bytes: PhaseBytes) -> String {
    let more = bytes.peak.saturating_sub(bytes.before);
    format!(
        "{} (+{})",
        format::bytes(locale, bytes.peak),
        format::bytes(locale, more)
    )
}

/// The panel.
#[component]
pub fn MemoryPanel() -> impl IntoView {
    let store = use_store();
    view! {
        <Fold id="memory-title" title=Signal::derive(tr!(store, memory.title)) turn=Turn::Memory>
            {part(Part::Memory)}
        </Fold>
    }
}

/// What it holds.
#[component]
pub fn Memory() -> impl IntoView {
    let store = use_store();
    let told = Memo::new(move |_| {
        let locale = store.locale.get();
        store.follow_in(Turn::Memory, |lab| {
            let recording = lab.recording.as_ref();
            recording.map(|recording| Told::of(locale, recording))
        })
    });
    let source = Memo::new(move |_| told.with(|told| told.as_ref().and_then(|told| told.source)));
    let limit = store.memo(|lab| lab.recording.as_ref().map(|recording| recording.setup.memory_limit));
    view! {
        <p class="about">{tr!(store, memory.about)}</p>
        <p class="memory-source">
            {move || {
                let locale = store.locale.get();
                match source.get() {
                    None => td_string!(locale, memory.nothing),
                    Some(MemorySource::Allocator) => td_string!(locale, memory.allocator),
                    Some(MemorySource::Device) => td_string!(locale, memory.device),
                }
            }}
        </p>
        <p class="about">
            {move || {
                let locale = store.locale.get();
                limit.get().map(|limit| td_string!(locale, memory.limit, limit = format::bytes(locale, limit)).to_string())
            }}
        </p>
        {move || source.get().is_some().then(|| view! { <Measured told=told /> })}
    }
}

#[component]
fn Measured(told: Memo<Option<Told>>) -> impl IntoView {
    let store = use_store();
    let built = Memo::new(move |_| told.with(|told| told.as_ref().and_then(|told| told.built.clone())));
    let groups = Memo::new(move |_| told.with(|told| told.as_ref().and_then(|told| told.groups.clone())));
    let shape = Memo::new(move |_| {
        groups.with(|groups| {
            let groups = groups.as_ref()?;
            Some(groups.lines.iter().map(|(what, _)| *what).collect::<Vec<_>>())
        })
    });
    view! {
        <dl class="table-list">
            {move || {
                built.get().map(|(in_use, reserved)| view! {
                    <dt>{tr!(store, memory.built)}</dt>
                    <dd>{in_use}</dd>
                    <dt>{tr!(store, memory.reserved)}</dt>
                    <dd>{reserved}</dd>
                })
            }}
        </dl>
        {move || shape.get().map(|lines| view! { <PhaseTable groups=groups lines=lines /> })}
        <PeakChart />
    }
}

#[component]
fn PhaseTable(groups: Memo<Option<Groups>>, lines: Vec<What>) -> impl IntoView {
    let store = use_store();
    let number =
        move |at: usize| groups.with(|groups| groups.as_ref().map_or_else(String::new, |g| g.numbers[at].clone()));
    let cell = move |line: usize, at: usize| {
        let text = Memo::new(move |_| {
            groups.with(|groups| {
                groups
                    .as_ref()
                    .and_then(|groups| Some(groups.lines.get(line)?.1[at].clone()))
            })
        });
        view! { <td>{move || text.get()}</td> }
    };
    view! {
        <div class="table-scroll" tabindex="0" role="region" aria-labelledby="memory-title">
            <table class="sums memory">
                <thead>
                    <tr>
                        <th scope="col">
                            <abbr title=tr!(store, memory.on_top_help)>{tr!(store, memory.what)}</abbr>
                        </th>
                        <th scope="col">{move || td_string!(store.locale.get(), memory.first, number = number(0)).to_string()}</th>
                        <th scope="col">{move || td_string!(store.locale.get(), memory.last, number = number(1)).to_string()}</th>
                    </tr>
                </thead>
                <tbody>
                    {lines
                        .into_iter()
                        .enumerate()
                        .map(|(line, what)| {
                            view! {
                                <tr>
                                    <th scope="row">{move || words(store.locale.get(), what)}</th>
                                    {cell(line, 0)}
                                    {cell(line, 1)}
                                </tr>
                            }
                        })
                        .collect_view()}
                </tbody>
            </table>
        </div>
    }
}

/// A native allocator cannot be asked.
fn reserved(locale: Locale, row: &MemoryRow) -> String {
    row.reserved
        .map_or_else(|| "–".to_owned(), |n| format::bytes(locale, n))
}

fn words(locale: Locale, what: What) -> String {
    let (phase, replica) = match what {
        What::InUse => return td_string!(locale, memory.in_use).to_owned(),
        What::Reserved => return td_string!(locale, memory.reserved).to_owned(),
        What::Peak => return td_string!(locale, memory.peak).to_owned(),
        What::Phase(phase, replica) => (phase, replica),
    };
    let phase = match phase {
        Phase::Model => td_string!(locale, memory.model),
        Phase::OptimizerState => td_string!(locale, memory.optimizer_state),
        Phase::Forward => td_string!(locale, memory.forward),
        Phase::Backward => td_string!(locale, memory.backward),
        Phase::Update => td_string!(locale, memory.update),
    };
    match replica {
        None => phase.to_owned(),
        Some(replica) => td_string!(locale, memory.on_replica, phase, n = replica + 1).to_string(),
    }
}

/// Two curves: the most in use, and in use at the end of each group.
#[component]
fn PeakChart() -> impl IntoView {
    let store = use_store();
    let curves = Memo::new(move |_| {
        let locale = store.locale.get();
        [td_string!(locale, memory.peak), td_string!(locale, memory.in_use)].map(str::to_owned)
    });
    let lanes = Signal::derive(move || {
        let lane = |label| ChartLane { label, visible: true };
        curves.get().map(lane).to_vec()
    });
    let words = Signal::derive(move || {
        let locale = store.locale.get();
        ChartWords {
            summary: td_string!(locale, memory.describe).to_owned(),
            help: td_string!(locale, chart.zoom_help).to_owned(),
            empty: td_string!(locale, memory.chart_empty).to_owned(),
            reset: td_string!(locale, chart.reset_zoom).to_owned(),
            x: td_string!(locale, memory.groups).to_owned(),
            y: td_string!(locale, memory.chart).to_owned(),
        }
    });
    view! {
        <div class="chart-panel small-chart">
            <p class="small-legend">
                {tr!(store, memory.chart)}
                ": "
                {(0..2)
                    .map(|at| view! { <LaneMark lane=at /> " " <span>{move || curves.with(|curves| curves[at].clone())}</span> " " })
                    .collect_view()}
            </p>
            <LineChart feed=feed(store) lanes=lanes kind=Signal::stored(Kind::Linear) words=words id="memory-chart" />
        </div>
    }
}

fn feed(store: Store) -> Feed {
    let ended = store.ended_in(Turn::Memory);
    let version = Memo::new(move |_| Version::of_run(ended.get()));
    Feed::new(version, move |lane, from, push| {
        store.peek(|lab| {
            let groups = lab.recording.iter().flat_map(|recording| &recording.groups).skip(from);
            for row in groups {
                let memory = row.memory.as_ref();
                let bytes = memory.map(|memory| if lane == 0 { memory.peak } else { memory.in_use });
                push(
                    (row.plan.number + 1) as f64,
                    bytes.map_or(f64::NAN, |bytes| bytes as f64 / MIB),
                );
            }
        });
    })
}
