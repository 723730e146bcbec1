//! All conventions at once, at the present parameters.

use leptos::prelude::*;

use super::{
    ask::{Ask, answer},
    fold::Fold,
};
use crate::{
    batch::{Convention, ConventionId},
    lab::{Closeness, Msg, ready},
    protocol::{FullBatch, ProbeReport, ProbeRow},
    ui::{
        format,
        later::{Part, coming::part},
        store::{Store, use_store},
        text::{Locale, td_string, tr},
        words::names,
    },
};

/// A report as text: a number that is not one would differ from itself, and be drawn anew with every message.
#[derive(Clone, Debug, PartialEq)]
struct Told {
    group: String,
    updates: String,
    supervised: String,
    backwards: String,
    ms: String,
    norm: String,
    noise_floor: String,
    full_batch: FullBatch,
    rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq)]
struct Row {
    convention: ConventionId,
    numbers: [String; 6],
    closeness: Closeness,
}

impl Told {
    fn of(report: &ProbeReport, tolerance: f64) -> Self {
        let row = |row: &ProbeRow| Row {
            convention: row.convention,
            numbers: [
                row.gradient_norm,
                row.norm_ratio,
                row.cosine,
                row.relative_l2,
                row.loss,
                row.loss_ratio,
            ]
            .map(format::value),
            closeness: Closeness::of(row.relative_l2, report.noise_floor, tolerance),
        };
        Self {
            group: format::count(report.group + 1),
            updates: format::count(report.applied_updates),
            supervised: format::count(report.supervised_tokens),
            backwards: format::count(report.backwards),
            ms: format::sum(report.elapsed_ms.round()),
            norm: format::value(report.full_batch_norm),
            noise_floor: format::error(report.noise_floor),
            full_batch: report.full_batch,
            rows: report.rows.iter().map(row).collect(),
        }
    }
}

/// The panel.
#[component]
pub fn ProbePanel() -> impl IntoView {
    let store = use_store();
    view! {
        <Fold id="probe-title" title=Signal::derive(tr!(store, probe.title))>
            {part(Part::Probe)}
        </Fold>
    }
}

/// What it holds.
#[component]
pub fn Probe() -> impl IntoView {
    let store = use_store();
    let told = store.memo(|lab| {
        let tolerance = lab
            .recording
            .as_ref()
            .map_or(0.0, |recording| recording.setup.tolerance);
        lab.tools.probe.map(|report| Told::of(report, tolerance))
    });
    let full_batch = RwSignal::new(FullBatch::default());
    let choose = move |event| {
        full_batch.set(if event_target_checked(&event) {
            FullBatch::InOnePass
        } else {
            FullBatch::AsSum
        });
    };
    view! {
        <p class="about">{tr!(store, probe.about)}</p>
        <label class="choice">
            <input
                type="checkbox"
                prop:checked=move || full_batch.get() == FullBatch::InOnePass
                on:change=choose
            />
            {tr!(store, probe.one_pass)}
        </label>
        <Ask
            label=Signal::derive(tr!(store, probe.ask))
            ready=ready::probe
            msg=Signal::derive_local(move || Some(Msg::Probe(full_batch.get())))
            id="probe-not-now"
        />
        {answer(store, told, move |told| table(store, told))}
    }
}

fn table(store: Store, told: Told) -> impl IntoView {
    let Told {
        group,
        updates,
        supervised,
        backwards,
        ms,
        norm,
        noise_floor,
        full_batch,
        rows,
    } = told;
    let place = move || {
        let (group, updates, n) = (group.clone(), updates.clone(), supervised.clone());
        let (backwards, ms, norm) = (backwards.clone(), ms.clone(), norm.clone());
        td_string!(store.locale.get(), probe.place, group, updates, n, backwards, ms, norm).to_string()
    };
    let whence = move || match full_batch {
        FullBatch::AsSum => td_string!(store.locale.get(), probe.as_sum),
        FullBatch::InOnePass => td_string!(store.locale.get(), probe.in_one_pass),
    };
    let floor = move || td_string!(store.locale.get(), probe.floor, value = noise_floor.clone()).to_string();
    let head: [fn(Locale) -> &'static str; 6] = [
        |l| td_string!(l, probe.norm),
        |l| td_string!(l, probe.ratio),
        |l| td_string!(l, probe.cosine),
        |l| td_string!(l, probe.relative),
        |l| td_string!(l, probe.loss),
        |l| td_string!(l, probe.loss_ratio),
    ];
    view! {
        <p class="probe-where" role="status">{place}</p>
        <p class="about">{whence} " " {floor}</p>
        <div class="table-scroll" tabindex="0" role="region" aria-labelledby="probe-title">
            <table class="sums probe">
                <thead>
                    <tr>
                        <th scope="col">{tr!(store, probe.convention)}</th>
                        <th scope="col">{tr!(store, probe.verdict)}</th>
                        {head.map(|words| view! { <th scope="col">{move || words(store.locale.get())}</th> }).collect_view()}
                    </tr>
                </thead>
                <tbody>{rows.into_iter().map(|row| line(store, row, full_batch)).collect_view()}</tbody>
            </table>
        </div>
    }
}

fn line(store: Store, row: Row, full_batch: FullBatch) -> impl IntoView {
    let convention = Convention::of(row.convention);
    let closeness = row.closeness;
    view! {
        <tr class:right=convention.correct>
            <th scope="row">
                {move || name(store.locale.get(), row.convention, full_batch)}
                {convention.correct.then(|| view! { " " <span class="right-mark">"✓ " {tr!(store, probe.right)}</span> })}
                <code class="formula">{convention.formula}</code>
            </th>
            <td class:off=closeness == Closeness::Apart>{move || verdict(store.locale.get(), closeness)}</td>
            {row.numbers.map(|number| view! { <td>{number}</td> }).collect_view()}
        </tr>
    }
}

/// The full batch is called what it was: "in one pass" only where it was computed so.
fn name(locale: Locale, convention: ConventionId, full_batch: FullBatch) -> &'static str {
    match (convention, full_batch) {
        (ConventionId::FullBatch, FullBatch::AsSum) => td_string!(locale, probe.full_as_sum),
        _ => names::convention(locale, convention),
    }
}

fn verdict(locale: Locale, closeness: Closeness) -> String {
    match closeness {
        Closeness::NoiseFloor(value) => td_string!(locale, probe.noise, value = format::error(value)).to_string(),
        Closeness::Tolerance(value) => td_string!(locale, probe.tolerance, value = format::error(value)).to_string(),
        Closeness::Apart => td_string!(locale, probe.apart).to_owned(),
    }
}
