//! The lanes side by side: the loss of the last group, counted both ways, with what was divided by what.

use leptos::prelude::*;

use super::loss_words;
use crate::{
    batch::{ConventionId, GroupPlan, LaneRule, NoWeight},
    lab::Recording,
    protocol::{GroupRow, LaneRow, Outcome},
    ui::{
        format,
        parts::{each_lane::each_lane, lane_mark::LaneMark},
        store::use_store,
        text::{td_string, tr},
        turns::Turn,
        words::names,
    },
};

/// All cards.
#[component]
pub fn LaneCards() -> impl IntoView {
    let store = use_store();
    view! {
        <section class="cards" aria-labelledby="cards-title">
            <h2 id="cards-title" class="sr-only">{tr!(store, card.group_loss)}</h2>
            {each_lane(store, |lane, rule| view! { <LaneCard lane=lane rule=rule /> }.into_any())}
        </section>
    }
}

/// What a card says, as text.
#[derive(Clone, Debug, Default, PartialEq)]
struct Card {
    outcome: Option<Outcome>,
    weighted: String,
    weighted_value: String,
    unweighted: String,
    unweighted_value: String,
    trained_on: Option<Result<String, NoWeight>>,
    follows: Option<Follows>,
    norm: String,
    rate: String,
}

impl Card {
    fn of(rule: LaneRule, recording: &Recording, plan: &GroupPlan, lane: &LaneRow) -> Self {
        let text = |x: Option<f64>| x.map_or_else(|| "–".to_owned(), format::loss_of_card);
        Self {
            outcome: Some(lane.ended()),
            weighted: equation(&loss_words::weighted(lane), lane.loss.token_weighted()),
            weighted_value: text(lane.loss.token_weighted()),
            unweighted: equation(&loss_words::unweighted(plan, lane), lane.loss.mean_of_means()),
            unweighted_value: text(lane.loss.mean_of_means()),
            trained_on: Some(
                loss_words::trained_on(rule, plan, lane, loss_words::scale(recording, lane)).map(format::loss_of_card),
            ),
            follows: Some(follows(rule, Some(plan))),
            norm: format::value(lane.gradient_norm),
            rate: format::value(lane.rate),
        }
    }

    fn read(rule: LaneRule, lane: usize) -> impl Fn(&Recording, &GroupRow) -> Self {
        move |recording, row| {
            row.lanes
                .get(lane)
                .map(|one| Self::of(rule, recording, &row.plan, one))
                .unwrap_or_default()
        }
    }
}

/// `7168 / 2048 = 3.5`; empty where there is nothing to divide.
fn equation(division: &str, value: Option<f64>) -> String {
    match value {
        Some(value) if !division.is_empty() => format!("{division} = {}", format::loss(value)),
        _ => String::new(),
    }
}

/// Which of the two numbers a lane follows, if it is one of them; under a fault of its loop that touches gradients it is neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Follows {
    Weighted,
    Unweighted,
    Neither,
}

fn follows(rule: LaneRule, plan: Option<&GroupPlan>) -> Follows {
    if !rule.spares_gradient() {
        return Follows::Neither;
    }
    match rule.convention {
        ConventionId::MeanOfMeans if plan.is_none_or(loss_words::is_plain_mean) => Follows::Unweighted,
        _ if rule.convention().correct => Follows::Weighted,
        _ => Follows::Neither,
    }
}

#[component]
fn LaneCard(lane: usize, rule: LaneRule) -> impl IntoView {
    let store = use_store();
    let card = Memo::new(move |_| store.last(Turn::Cards, Card::read(rule, lane)));
    let followed = Memo::new(move |_| {
        let told = card.with(|card| card.as_ref().and_then(|card| card.follows));
        told.unwrap_or_else(|| follows(rule, None))
    });
    let title = format!("lane-{}-title", lane + 1);
    let labelled_by = title.clone();
    let convention = rule.convention();
    let with =
        move |read: fn(&Card) -> String| move || card.with(|card| card.as_ref().map_or_else(|| "–".to_owned(), read));
    let note = move || {
        let locale = store.locale.get();
        card.with(|card| match card.as_ref().map(|card| card.outcome) {
            None => Some(td_string!(locale, card.waiting)),
            Some(outcome) => outcome.and_then(|outcome| names::outcome(locale, outcome)),
        })
    };
    let trained_on = move || match card.with(|card| card.as_ref().and_then(|card| card.trained_on.clone())) {
        None => "–".to_owned(),
        Some(Ok(value)) => value,
        Some(Err(why)) => names::no_weight(store.locale.get(), why).to_owned(),
    };
    let written =
        move |read: fn(&Card) -> String| move || card.with(|card| card.as_ref().map(read).unwrap_or_default());
    view! {
        <article class="card" data-lane={lane + 1} aria-labelledby=labelled_by>
            <header>
                <LaneMark lane=lane />
                <h3 id=title>{move || names::lane(store.locale.get(), rule)}</h3>
                <code class="formula">{convention.formula}</code>
            </header>
            <div class="losses">
                <LossNumber
                    label=Signal::derive(tr!(store, card.weighted))
                    value=Signal::derive(with(|card| card.weighted_value.clone()))
                    arithmetic=Signal::derive(written(|card| card.weighted.clone()))
                    followed=Signal::derive(move || followed.get() == Follows::Weighted)
                />
                <LossNumber
                    label=Signal::derive(tr!(store, card.unweighted))
                    value=Signal::derive(with(|card| card.unweighted_value.clone()))
                    arithmetic=Signal::derive(written(|card| card.unweighted.clone()))
                    followed=Signal::derive(move || followed.get() == Follows::Unweighted)
                />
            </div>
            <dl class="facts" hidden=move || note().is_some()>
                <div>
                    <dt>{tr!(store, card.norm)}</dt>
                    <dd>{with(|card| card.norm.clone())}</dd>
                </div>
                <div>
                    <dt>{tr!(store, card.rate)}</dt>
                    <dd>{with(|card| card.rate.clone())}</dd>
                </div>
                {move || {
                    (followed.get() == Follows::Neither)
                        .then(|| {
                            view! {
                            <div class="trained-on">
                                <dt>{tr!(store, card.trains_on_value)}</dt>
                                <dd>{trained_on}</dd>
                            </div>
                        }
                        })
                }}
            </dl>
            <p class="card-note" hidden=move || note().is_none()>
                {note}
            </p>
        </article>
    }
}

/// One number with the division that made it.
#[component]
fn LossNumber(
    label: Signal<&'static str>,
    value: Signal<String>,
    arithmetic: Signal<String>,
    followed: Signal<bool>,
) -> impl IntoView {
    let store = use_store();
    view! {
        <div class="loss" class:followed=move || followed.get()>
            <span class="loss-label">{move || label.get()}</span>
            <span class="loss-line">
                <strong class="loss-value" aria-hidden="true">
                    {move || value.get()}
                </strong>
            </span>
            <span class="loss-arithmetic">{move || arithmetic.get()}</span>
            {move || followed.get().then(|| view! { <span class="follows">{tr!(store, card.trains_on)}</span> })}
        </div>
    }
}
