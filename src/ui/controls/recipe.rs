//! The network, the optimizer and the budget.

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
const DROPOUT_ORDERS: &[(&str, Words)] = &[
    ("stream", |l| td_string!(l, model.dropout_stream)),
    ("by_example", |l| td_string!(l, model.dropout_by_example)),
];
const BATCH_NORM: &[(&str, Words)] = &[
    ("no", |l| td_string!(l, model.batch_norm_no)),
    ("yes", |l| td_string!(l, model.batch_norm_yes)),
];
const OPTIMIZERS: &[(&str, Words)] = &[
    ("adamw", |l| td_string!(l, optimizer.adamw)),
    ("sgd", |l| td_string!(l, optimizer.sgd)),
];
const BUDGET_UNITS: &[(&str, Words)] = &[
    ("applied_updates", |l| td_string!(l, units.applied_updates)),
    ("examples", |l| td_string!(l, units.examples)),
    ("supervised_tokens", |l| td_string!(l, units.supervised_tokens)),
];

/// The fields of the network.
pub const MODEL_KEYS: &[Key] = &[
    Key::Model,
    Key::Embed,
    Key::Hidden,
    Key::Width,
    Key::Layers,
    Key::Heads,
    Key::Context,
    Key::Start,
    Key::Dropout,
    Key::DropoutOrder,
    Key::BatchNorm,
    Key::BatchNormMomentum,
];

/// The fields of the optimizer.
pub const OPTIMIZER_KEYS: &[Key] = &[
    Key::Optimizer,
    Key::Momentum,
    Key::Beta1,
    Key::Beta2,
    Key::WeightDecay,
    Key::Rate,
];

/// The network's sizes, how it starts, and what in it looks at a whole microbatch.
#[component]
pub fn ModelFields() -> impl IntoView {
    let store = use_store();
    let parameters = store.memo(|lab| lab.machine.facts.as_ref().map(|facts| facts.parameters));
    let start_help: Words = |l| td_string!(l, model.start_help);
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
        <TextField key=Key::Start label=|l| td_string!(l, model.start) keyboard=Keyboard::Text help=start_help />
        <TextField key=Key::Dropout label=|l| td_string!(l, model.dropout) keyboard=Keyboard::Decimal />
        <ChoiceField key=Key::DropoutOrder label=|l| td_string!(l, model.dropout_order) options=DROPOUT_ORDERS />
        <ChoiceField key=Key::BatchNorm label=|l| td_string!(l, model.batch_norm) options=BATCH_NORM />
        <TextField key=Key::BatchNormMomentum label=|l| td_string!(l, model.batch_norm_momentum) keyboard=Keyboard::Text />
        <p class="about">
            {move || {
                let n = parameters.get().map(format::count);
                n.map(|n| td_string!(store.locale.get(), model.parameters, n).to_string())
            }}
        </p>
    }
}

/// The optimizer and its rate.
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
