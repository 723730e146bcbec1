//! The curves of all lanes over an axis that the person chooses by its unit.

use leptos::prelude::*;

use crate::{
    batch::Unit,
    chart::Kind,
    lab::{Lab, LaneSeries, Msg},
    setup::named::Named,
    ui::{
        charts::{ChartLane, ChartWords, Feed, LineChart, Version},
        parts::{each_lane::each_lane, lane_mark::LaneMark},
        store::{Store, use_store},
        text::{Locale, td_string, tr},
        turns::Turn,
        words::names,
    },
};

/// The axes on offer.
const AXES: [Unit; 4] = [
    Unit::AppliedUpdates,
    Unit::Microbatches,
    Unit::Examples,
    Unit::SupervisedTokens,
];

/// What the curves show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Shown {
    #[default]
    Weighted,
    Unweighted,
    Distance,
    Norm,
}

impl Shown {
    const ALL: [Self; 4] = [Self::Weighted, Self::Unweighted, Self::Distance, Self::Norm];

    fn name(self) -> &'static str {
        match self {
            Self::Weighted => "weighted",
            Self::Unweighted => "unweighted",
            Self::Distance => "distance",
            Self::Norm => "norm",
        }
    }

    fn words(self, locale: Locale) -> &'static str {
        match self {
            Self::Weighted => td_string!(locale, chart.weighted),
            Self::Unweighted => td_string!(locale, chart.unweighted),
            Self::Distance => td_string!(locale, chart.distance),
            Self::Norm => td_string!(locale, chart.norm),
        }
    }

    fn column(self, series: &LaneSeries) -> &[f64] {
        match self {
            Self::Weighted => &series.weighted,
            Self::Unweighted => &series.unweighted,
            Self::Distance => &series.parameter_distance,
            Self::Norm => &series.gradient_norm,
        }
    }
}

/// The chart with its choices.
#[component]
pub fn ChartPanel() -> impl IntoView {
    let store = use_store();
    let axis = store.memo(|lab| lab.blueprint.axis);
    let shown = RwSignal::new(Shown::default());
    let log = RwSignal::new(false);
    let kind = Signal::derive(move || if log.get() { Kind::Log } else { Kind::Linear });
    let words =
        Signal::derive(move || chart_words(store.locale.get(), axis.get(), shown.get(), store.lanes.with(Vec::len)));
    let pick_axis = move |event| {
        if let Some(unit) = Unit::named(&event_target_value(&event)) {
            store.dispatch(Msg::Axis(unit));
        }
    };
    let pick_shown = move |event| {
        let name = event_target_value(&event);
        shown.set(
            Shown::ALL
                .into_iter()
                .find(|shown| shown.name() == name)
                .unwrap_or_default(),
        );
    };
    view! {
        <section class="panel chart-panel" aria-labelledby="chart-title">
            <header class="panel-head">
                <h2 id="chart-title" class="sr-only">{tr!(store, chart.title)}</h2>
                <label class="pick">
                    <span class="sr-only">{tr!(store, chart.value)}</span>
                    <select on:change=pick_shown>
                        {Shown::ALL
                            .map(|one| {
                                view! {
                                    <option value=one.name() selected=move || shown.get() == one>
                                        {move || one.words(store.locale.get())}
                                    </option>
                                }
                            })
                            .collect_view()}
                    </select>
                </label>
                <label class="pick">
                    <span aria-hidden="true">{tr!(store, chart.over)}</span>
                    <select aria-label=tr!(store, chart.axis) on:change=pick_axis>
                        {AXES
                            .map(|unit| {
                                view! {
                                    <option value=unit.name() selected=move || axis.get() == unit>
                                        {move || names::unit(store.locale.get(), unit)}
                                    </option>
                                }
                            })
                            .collect_view()}
                    </select>
                </label>
                <label class="check">
                    <input
                        type="checkbox"
                        aria-label=tr!(store, chart.log)
                        prop:checked=move || log.get()
                        on:change=move |event| log.set(event_target_checked(&event))
                    />
                    <span aria-hidden="true">{tr!(store, chart.log_short)}</span>
                </label>
            </header>
            <LineChart feed=feed(store, axis, shown) lanes=chart_lanes(store) kind=kind words=words id="loss-chart" />
            <Legend />
        </section>
    }
}

/// Each point is read once; another run, axis or quantity is another curve.
fn feed(store: Store, axis: Memo<Unit>, shown: RwSignal<Shown>) -> Feed {
    let ended = store.ended_in(Turn::Curves);
    let version = Memo::new(move |_| {
        let (run, points) = ended.get().map_or((0, 0), |(run, ended)| (run.0, ended));
        let axis = AXES.iter().position(|unit| *unit == axis.get()).unwrap_or(0);
        let shown = Shown::ALL.iter().position(|one| *one == shown.get()).unwrap_or(0);
        let look = (axis * Shown::ALL.len() + shown) as u64;
        Version {
            key: u64::from(run) * (AXES.len() * Shown::ALL.len()) as u64 + look,
            points,
        }
    });
    Feed::new(version, move |lane, from, push| {
        let (axis, shown) = (axis.get_untracked(), shown.get_untracked());
        store.peek(|lab| {
            let series = lab.recording.as_ref().and_then(|recording| recording.lanes.get(lane));
            if let Some(series) = series {
                for (counters, y) in series.counters.iter().zip(shown.column(series)).skip(from) {
                    push(counters.get(axis) as f64, *y);
                }
            }
        });
    })
}

fn chart_lanes(store: Store) -> Signal<Vec<ChartLane>> {
    let hidden = hidden(store);
    Memo::new(move |_| {
        let locale = store.locale.get();
        hidden.with(|hidden| {
            store.lanes.with(|lanes| {
                let lanes = lanes.iter().enumerate().map(|(lane, &rule)| ChartLane {
                    label: names::lane(locale, rule),
                    visible: !hidden.contains(&lane),
                });
                lanes.collect()
            })
        })
    })
    .into()
}

fn hidden(store: Store) -> Memo<Vec<usize>> {
    store.memo(|lab: &Lab| lab.blueprint.hidden_lanes.clone())
}

fn chart_words(locale: Locale, axis: Unit, shown: Shown, lanes: usize) -> ChartWords {
    let (what, unit) = (shown.words(locale), names::unit(locale, axis));
    ChartWords {
        summary: td_string!(locale, chart.describe, what, axis = unit, lanes).to_string(),
        help: td_string!(locale, chart.zoom_help).to_owned(),
        empty: td_string!(locale, chart.empty).to_owned(),
        reset: td_string!(locale, chart.reset_zoom).to_owned(),
        x: unit.to_owned(),
        y: what.to_owned(),
    }
}

/// A switch a lane.
#[component]
fn Legend() -> impl IntoView {
    let store = use_store();
    let hidden = hidden(store);
    view! {
        <fieldset class="legend">
            <legend class="sr-only">{tr!(store, chart.legend)}</legend>
            {each_lane(store, move |lane, rule| {
                view! {
                    <label>
                        <input
                            type="checkbox"
                            prop:checked=move || hidden.with(|hidden| !hidden.contains(&lane))
                            on:change=move |_| store.dispatch(Msg::ToggleLane(lane))
                        />
                        <LaneMark lane=lane />
                        <span>{move || names::lane(store.locale.get(), rule)}</span>
                    </label>
                }
                    .into_any()
            })}
        </fieldset>
    }
}
