//! The curves of all lanes over an axis that the person chooses by its unit.

use leptos::prelude::*;

use crate::{
    batch::Unit,
    lab::{LaneSeries, Msg},
    setup::named::Named,
    ui::{
        parts::lane_mark::LaneMark,
        store::use_store,
        text::{Locale, td_string, tr},
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
                    <span>{tr!(store, chart.axis)}</span>
                    <select on:change=pick_axis>
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
            </header>
            <Legend />
        </section>
    }
}

/// A switch a lane.
#[component]
fn Legend() -> impl IntoView {
    let store = use_store();
    let hidden = store.memo(|lab| lab.blueprint.hidden_lanes.clone());
    view! {
        <fieldset class="legend">
            <legend class="sr-only">{tr!(store, chart.legend)}</legend>
            <For
                each=move || store.lanes.get().into_iter().enumerate()
                key=|lane| *lane
                children=move |(lane, id)| {
                    view! {
                        <label>
                            <input
                                type="checkbox"
                                prop:checked=move || hidden.with(|hidden| !hidden.contains(&lane))
                                on:change=move |_| store.dispatch(Msg::ToggleLane(lane))
                            />
                            <LaneMark lane=lane />
                            <span>{move || names::convention(store.locale.get(), id)}</span>
                        </label>
                    }
                }
            />
        </fieldset>
    }
}
