//! The data at a glance, made anew shortly after the form rests: lengths as bars, the first few examples with what is scored.

use std::{sync::Arc, time::Duration};

use leptos::prelude::*;

use crate::{
    batch::Faults,
    data::{DataError, Run, Sample, Summary, build, summary},
    lab::OwnFile,
    setup::{Data, Setup},
    ui::{
        format,
        store::{Store, use_store},
        text::{td_string, tr},
        words,
    },
};

/// How long the form must rest before its data is made for the preview.
const REST: Duration = Duration::from_millis(250);

/// The data of the form, once made.
pub type Preview = ReadSignal<Option<Result<Arc<Summary>, DataError>>>;

/// Makes the preview whenever the part of the form that it depends on changed.
pub fn follow(store: Store) -> Preview {
    let (preview, set) = signal(None);
    let own = store.memo(|lab| lab.blueprint.own.clone());
    let asked = Memo::new(move |_| store.setup.with(|setup| setup.as_deref().map(only_data)));
    let timer = StoredValue::new(None::<TimeoutHandle>);
    Effect::new(move |_| {
        own.track();
        asked.track();
        let make = move || {
            let made = asked.with_untracked(|asked| {
                asked
                    .as_ref()
                    .map(|setup| own.with_untracked(|own| made(setup, own.as_ref())))
            });
            // While the form does not parse, the last good preview stays.
            if made.is_some() {
                set.set(made);
            }
        };
        if let Some(before) = timer.get_value() {
            before.clear();
        }
        timer.set_value(set_timeout_with_handle(make, REST).ok());
    });
    preview
}

fn made(setup: &Setup, own: Option<&OwnFile>) -> Result<Arc<Summary>, DataError> {
    let text = match &setup.data {
        Data::Task { .. } => None,
        Data::Own { name, .. } => {
            let named = own.filter(|file| file.is_named(name));
            Some(named.ok_or_else(|| DataError::FileNeeded { name: name.clone() })?)
        }
    };
    build(setup, text.map(|file| &*file.text)).map(|corpus| Arc::new(summary(&corpus)))
}

/// The same Setup with all that does not change the data left at one value, so that editing it makes no new preview.
fn only_data(setup: &Setup) -> Setup {
    let mut setup = setup.clone();
    setup.schedule.peak = 0.0;
    setup.budget.amount = 1;
    setup.clip_norm = None;
    setup.loss_scale = None;
    setup.inject_inf.clear();
    setup.dropout = None;
    setup.batch_norm = None;
    for lane in &mut setup.lanes {
        lane.faults = Faults::NONE;
    }
    setup
}

/// The first few examples; what is scored is underlined.
#[component]
pub fn Samples(
    /// The data.
    preview: Preview,
) -> impl IntoView {
    let store = use_store();
    view! {
        <ol class="samples">
            {move || {
                preview.with(|preview| match preview {
                    Some(Ok(summary)) => summary.samples.iter().cloned().map(move |one| sample(store, one)).collect_view().into_any(),
                    Some(Err(error)) => {
                        view! { <li class="field-error">{words::fault::data(store.locale.get(), error)}</li> }.into_any()
                    }
                    None => ().into_any(),
                })
            }}
        </ol>
    }
}

fn sample(store: Store, sample: Sample) -> impl IntoView {
    let scored: usize = sample
        .runs
        .iter()
        .filter(|run| run.supervised)
        .map(|run| run.text.chars().count())
        .sum();
    view! {
        <li>
            <span class="sample-id">
                {move || td_string!(store.locale.get(), data.example, id = sample.id.0).to_string()}
            </span>
            <code>
                {sample
                    .runs
                    .into_iter()
                    .map(|Run { text, supervised }| {
                        if supervised {
                            view! { <u>{text}</u> }.into_any()
                        } else {
                            view! { <span>{text}</span> }.into_any()
                        }
                    })
                    .collect_view()}
                {sample.cut.then_some("…")}
            </code>
            <span class="sr-only">
                {move || {
                    let locale = store.locale.get();
                    if scored == 0 {
                        td_string!(locale, data.none).to_owned()
                    } else {
                        td_string!(locale, data.scored, count = scored).to_string()
                    }
                }}
            </span>
        </li>
    }
}

/// The lengths as bars, with the same in words.
#[component]
pub fn Histogram(
    /// The data.
    preview: Preview,
) -> impl IntoView {
    let store = use_store();
    let words = move || {
        let locale = store.locale.get();
        preview.with(|preview| match preview {
            Some(Ok(summary)) if summary.shortest == summary.longest => td_string!(
                locale,
                lengths.summary_even,
                count = format::count(summary.count),
                n = summary.longest,
                supervised = format::count(summary.supervised)
            )
            .to_string(),
            Some(Ok(summary)) => {
                let mean = summary.positions as f64 / summary.count.max(1) as f64;
                td_string!(
                    locale,
                    lengths.summary,
                    count = format::count(summary.count),
                    min = summary.shortest,
                    max = summary.longest,
                    mean = format!("{mean:.1}"),
                    median = summary.median,
                    supervised = format::count(summary.supervised)
                )
                .to_string()
            }
            _ => String::new(),
        })
    };
    view! {
        <figure class="histogram">
            <svg viewBox="0 0 240 48" preserveAspectRatio="none" role="img" aria-label=tr!(store, lengths.histogram)>
                {move || preview.with(|preview| match preview {
                    Some(Ok(summary)) => bars(store, summary).into_any(),
                    _ => ().into_any(),
                })}
            </svg>
            <figcaption>{words}</figcaption>
        </figure>
    }
}

fn bars(store: Store, summary: &Summary) -> impl IntoView + use<> {
    let tallest = summary.lengths.iter().map(|bin| bin.examples).max().unwrap_or(1).max(1) as f64;
    let width = 240.0 / summary.lengths.len().max(1) as f64;
    let bars = summary.lengths.iter().enumerate().map(move |(at, bin)| {
        let height = 46.0 * bin.examples as f64 / tallest;
        let (low, high, count) = (bin.from, bin.to, format::count(bin.examples));
        view! {
            <rect
                x=format!("{:.2}", at as f64 * width)
                y=format!("{:.2}", 48.0 - height)
                width=format!("{:.2}", (width - 1.0).clamp(0.5, 20.0))
                height=format!("{height:.2}")
            >
                <title>{move || td_string!(store.locale.get(), lengths.bar, low, high, count = count.clone()).to_string()}</title>
            </rect>
        }
    });
    bars.collect_view()
}
