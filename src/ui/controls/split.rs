//! m, A, D: the arithmetic of one update, written out as it is typed.

use leptos::prelude::*;

use super::topology::TopologyHelper;
use crate::{
    batch::Split,
    setup::{Key, count},
    ui::{
        format,
        parts::field::{ChoiceField, TextField, Words},
        store::use_store,
        text::{td_string, tr},
    },
};

const SHARDING: &[(&str, Words)] = &[
    ("interleaved", |l| td_string!(l, split.sharding_interleaved)),
    ("microbatches", |l| td_string!(l, split.sharding_microbatches)),
    ("blocks", |l| td_string!(l, split.sharding_blocks)),
    ("identical", |l| td_string!(l, split.sharding_identical)),
];
const SAMPLER_PADDING: &[(&str, Words)] = &[
    ("no", |l| td_string!(l, split.sampler_padding_no)),
    ("yes", |l| td_string!(l, split.sampler_padding_yes)),
];
const LAST_GROUP: &[(&str, Words)] = &[
    ("process", |l| td_string!(l, split.last_process)),
    ("drop", |l| td_string!(l, split.last_drop)),
];
const SHUFFLE: &[(&str, Words)] = &[
    ("yes", |l| td_string!(l, split.shuffle_yes)),
    ("no", |l| td_string!(l, split.shuffle_no)),
];

/// m, A and D with their product.
#[component]
pub fn SplitFields() -> impl IntoView {
    let store = use_store();
    view! {
        <fieldset class="group">
            <legend>{tr!(store, split.title)}</legend>
            <div class="three">
                <TextField key=Key::Microbatch label=|l| td_string!(l, split.m) />
                <TextField key=Key::Accumulation label=|l| td_string!(l, split.a) />
                <TextField key=Key::Replicas label=|l| td_string!(l, split.d) />
            </div>
            <Product />
            <TopologyHelper />
        </fieldset>
    }
}

/// The fields of dealing.
pub const DEALING_KEYS: &[Key] = &[
    Key::Sharding,
    Key::SamplerPadding,
    Key::LastGroup,
    Key::Shuffle,
    Key::Seed,
];

/// Who gets which example, and what happens at the end of an epoch.
#[component]
pub fn DealingFields() -> impl IntoView {
    view! {
        <ChoiceField key=Key::Sharding label=|l| td_string!(l, split.sharding) options=SHARDING />
        <ChoiceField key=Key::SamplerPadding label=|l| td_string!(l, split.sampler_padding) options=SAMPLER_PADDING />
        <ChoiceField key=Key::LastGroup label=|l| td_string!(l, split.last_group) options=LAST_GROUP />
        <ChoiceField key=Key::Shuffle label=|l| td_string!(l, split.shuffle) options=SHUFFLE />
        <TextField key=Key::Seed label=|l| td_string!(l, split.seed) />
    }
}

/// `2 × 8 × 2 = 32`, whether or not the rest of the form is in order.
#[component]
fn Product() -> impl IntoView {
    let store = use_store();
    let split = Memo::new(move |_| {
        store.draft.with(|draft| {
            let number = |key| count(draft.get(key)).ok();
            Split::new(
                number(Key::Microbatch)?,
                number(Key::Accumulation)?,
                number(Key::Replicas)?,
            )
        })
    });
    view! {
        <div class="product">
            <span class="product-name" id="product-name">{tr!(store, split.effective)}</span>
            <output aria-labelledby="product-name">
                {move || {
                    let locale = store.locale.get();
                    let Some(split) = split.get() else {
                        return view! { <span class="product-unknown">{td_string!(locale, split.unknown)}</span> }.into_any();
                    };
                    let (m, a, d) = (split.microbatch, split.accumulation, split.replicas);
                    let n = format::count(split.effective_batch());
                    let each = format::count(split.per_replica());
                    view! {
                        <strong class="product-sum">{td_string!(locale, split.product, m, a, d, n).to_string()}</strong>
                        <span>{td_string!(locale, split.examples, count = split.effective_batch()).to_string()}</span>
                        ", "
                        <span>{td_string!(locale, split.per_replica, n = each).to_string()}</span>
                    }
                        .into_any()
                }}
            </output>
        </div>
    }
}
