//! The network, the optimizer, its schedule and the budget.

use leptos::prelude::*;

use crate::{
    setup::Key,
    ui::{
        format,
        parts::field::{ChoiceField, Keyboard, TextField, Words},
        store::use_store,
        text::{td_string, tr},
    },
};

const MODELS: &[(&str, Words)] = &[
    ("transformer", |l| td_string!(l, model.transformer)),
    ("token_mlp", |l| td_string!(l, model.token_mlp)),
];
const OPTIMIZERS: &[(&str, Words)] = &[
    ("adamw", |l| td_string!(l, optimizer.adamw)),
    ("sgd", |l| td_string!(l, optimizer.sgd)),
];
const SCHEDULES: &[(&str, Words)] = &[
    ("constant", |l| td_string!(l, optimizer.constant)),
    ("linear_warmup_decay", |l| td_string!(l, optimizer.linear_warmup_decay)),
];
const BUDGET_UNITS: &[(&str, Words)] = &[
    ("applied_updates", |l| td_string!(l, units.applied_updates)),
    ("examples", |l| td_string!(l, units.examples)),
    ("supervised_tokens", |l| td_string!(l, units.supervised_tokens)),
];

/// The network's sizes.
#[component]
pub fn ModelFields() -> impl IntoView {
    let store = use_store();
    let parameters = store.memo(|lab| lab.machine.facts.as_ref().map(|facts| facts.parameters));
    view! {
        <ChoiceField key=Key::Model label=|l| td_string!(l, model.kind) options=MODELS />
        <div class="four">
            <TextField key=Key::Width label=|l| td_string!(l, model.width) />
            <TextField key=Key::Layers label=|l| td_string!(l, model.layers) />
            <TextField key=Key::Heads label=|l| td_string!(l, model.heads) />
            <TextField key=Key::Context label=|l| td_string!(l, model.context) />
            <TextField key=Key::Embed label=|l| td_string!(l, model.embed) />
            <TextField key=Key::Hidden label=|l| td_string!(l, model.hidden) />
        </div>
        <TextField key=Key::Start label=|l| td_string!(l, model.start) keyboard=Keyboard::Text />
        <p class="about">{tr!(store, model.start_help)}</p>
        <p class="about">
            {move || {
                let n = parameters.get().map(format::count);
                n.map(|n| td_string!(store.locale.get(), model.parameters, n).to_string())
            }}
        </p>
    }
}

/// The optimizer, its rate and its schedule.
#[component]
pub fn OptimizerFields() -> impl IntoView {
    view! {
        <ChoiceField key=Key::Optimizer label=|l| td_string!(l, optimizer.kind) options=OPTIMIZERS />
        <div class="four">
            <TextField key=Key::Rate label=|l| td_string!(l, optimizer.rate) keyboard=Keyboard::Decimal />
            <TextField key=Key::Momentum label=|l| td_string!(l, optimizer.momentum) keyboard=Keyboard::Decimal />
            <TextField key=Key::Beta1 label=|l| td_string!(l, optimizer.beta1) keyboard=Keyboard::Decimal />
            <TextField key=Key::Beta2 label=|l| td_string!(l, optimizer.beta2) keyboard=Keyboard::Decimal />
            <TextField key=Key::WeightDecay label=|l| td_string!(l, optimizer.weight_decay) keyboard=Keyboard::Decimal />
        </div>
        <ChoiceField key=Key::Schedule label=|l| td_string!(l, optimizer.schedule) options=SCHEDULES />
        <div class="two">
            <TextField key=Key::Warmup label=|l| td_string!(l, optimizer.warmup) />
            <TextField key=Key::ScheduleTotal label=|l| td_string!(l, optimizer.total) />
        </div>
    }
}

/// When the run ends.
#[component]
pub fn BudgetFields() -> impl IntoView {
    let store = use_store();
    view! {
        <fieldset class="group">
            <legend>{tr!(store, budget.title)}</legend>
            <div class="two">
                <TextField key=Key::Budget label=|l| td_string!(l, budget.amount) />
                <ChoiceField key=Key::BudgetUnit label=|l| td_string!(l, budget.unit) options=BUDGET_UNITS />
            </div>
        </fieldset>
    }
}
