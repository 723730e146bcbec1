//! From a number of GPUs to D.

use std::num::NonZeroU32;

use leptos::prelude::*;

use crate::{
    batch::{Topology, topology::NotDivisible},
    lab::Msg,
    setup::Key,
    ui::{
        store::use_store,
        text::{td_string, tr},
    },
};

/// A small reckoner; its result goes into D when asked.
#[component]
pub fn TopologyHelper() -> impl IntoView {
    let store = use_store();
    let world = RwSignal::new("16".to_owned());
    let tensor = RwSignal::new("4".to_owned());
    let pipeline = RwSignal::new("2".to_owned());
    let context = RwSignal::new("1".to_owned());
    let topology = Memo::new(move |_| {
        let number = |text: RwSignal<String>| text.with(|text| text.trim().parse::<NonZeroU32>().ok());
        Some(Topology {
            world: number(world)?,
            tensor: number(tensor)?,
            pipeline: number(pipeline)?,
            context: number(context)?,
        })
    });
    let replicas = Memo::new(move |_| topology.get().map(Topology::replicas));
    let input = move |id: &'static str, label: Signal<&'static str>, text: RwSignal<String>| {
        view! {
            <div class="field">
                <label for=id>{move || label.get()}</label>
                <input
                    id=id
                    type="text"
                    inputmode="numeric"
                    autocomplete="off"
                    prop:value=move || text.get()
                    on:input=move |event| text.set(event_target_value(&event))
                />
            </div>
        }
    };
    view! {
        <details class="topology">
            <summary>{tr!(store, topology.title)}</summary>
            <p class="about">{tr!(store, topology.about)}</p>
            <div class="four">
                {input("topology-world", Signal::derive(tr!(store, topology.world)), world)}
                {input("topology-tp", Signal::derive(tr!(store, topology.tensor)), tensor)}
                {input("topology-pp", Signal::derive(tr!(store, topology.pipeline)), pipeline)}
                {input("topology-cp", Signal::derive(tr!(store, topology.context)), context)}
            </div>
            <div class="topology-result">
                <output>
                    {move || {
                        let locale = store.locale.get();
                        match (topology.get(), replicas.get()) {
                            (Some(t), Some(Ok(d))) => {
                                let (world, tensor, pipeline, context) = (t.world, t.tensor, t.pipeline, t.context);
                                td_string!(locale, topology.result, world, tensor, pipeline, context, d).to_string()
                            }
                            (_, Some(Err(NotDivisible { world, model_parallel }))) => {
                                td_string!(locale, topology.not_divisible, world, product = model_parallel).to_string()
                            }
                            _ => td_string!(locale, topology.not_numbers).to_owned(),
                        }
                    }}
                </output>
                <button
                    type="button"
                    prop:disabled=move || !matches!(replicas.get(), Some(Ok(_)))
                    on:click=move |_| {
                        if let Some(Ok(d)) = replicas.get_untracked() {
                            store.dispatch(Msg::Edit(Key::Replicas, d.to_string()));
                        }
                    }
                >
                    {tr!(store, topology.take)}
                </button>
            </div>
        </details>
    }
}
