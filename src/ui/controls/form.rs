//! The form: what is always looked at first, the rest in sections that fold.

use leptos::{html, prelude::*};

use super::{
    data::{self, DataFields},
    lanes::LaneFields,
    lengths::LengthFields,
    numerics::{LIMIT_KEYS, SCALING_KEYS, SCHEDULE_KEYS},
    preview::Preview,
    recipe::{BudgetFields, MODEL_KEYS, OPTIMIZER_KEYS},
    split::{DEALING_KEYS, SplitFields},
};
use crate::{
    setup::Key,
    ui::{
        browser,
        later::{Part, coming::part},
        parts::section::{Section, open_for},
        store::use_store,
        text::{td_string, tr},
    },
};

/// All settings. On a phone they fold as a whole, and open where something is to be mended.
#[component]
pub fn Form(
    /// What the data comes to.
    preview: Preview,
) -> impl IntoView {
    let store = use_store();
    let details = NodeRef::<html::Details>::new();
    open_for(details, Key::ALL);
    view! {
        <details open=browser::wide() node_ref=details>
            <summary>{tr!(store, app.settings)}</summary>
            <form on:submit=|event| event.prevent_default()>
                <SplitFields />
                <LaneFields />
                <Section title=|l| td_string!(l, data.title) keys=data::KEYS open=true>
                    <DataFields preview=preview />
                    <LengthFields preview=preview />
                </Section>
                <BudgetFields />
                <Section title=|l| td_string!(l, model.title) keys=MODEL_KEYS>
                    {part(Part::Model)}
                </Section>
                <Section title=|l| td_string!(l, optimizer.title) keys=OPTIMIZER_KEYS>
                    {part(Part::Optimizer)}
                </Section>
                <Section title=|l| td_string!(l, schedule.title) keys=SCHEDULE_KEYS>
                    {part(Part::Schedule)}
                </Section>
                <Section title=|l| td_string!(l, scaling.title) keys=SCALING_KEYS>
                    {part(Part::Scaling)}
                </Section>
                <Section title=|l| td_string!(l, split.dealing) keys=DEALING_KEYS>
                    {part(Part::Dealing)}
                </Section>
                <Section title=|l| td_string!(l, limits.title) keys=LIMIT_KEYS>
                    {part(Part::Limits)}
                </Section>
            </form>
        </details>
    }
}
