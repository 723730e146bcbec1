//! The shaders of the lab, each beside what it does. Their texts are no part of the page: they are fetched one by one.

use leptos::prelude::*;

use super::{
    fold::Fold,
    shader_source::ShaderSource,
    shader_table::{LAYERS, PROGRAM, SHARED, Shader},
};
use crate::ui::{
    parts::field::Words,
    store::use_store,
    text::{td_string, tr},
};

/// The panel.
#[component]
pub fn ShadersPanel() -> impl IntoView {
    let store = use_store();
    view! {
        <Fold id="shaders-title" title=Signal::derive(tr!(store, shaders.title))>
            <p class="about">{tr!(store, shaders.about)}</p>
            <p class="about">{tr!(store, shaders.notation)}</p>
            <Group title=|l| td_string!(l, shaders.program) about=|l| td_string!(l, shaders.program_about) shaders=PROGRAM />
            <Group title=|l| td_string!(l, shaders.layers) about=|l| td_string!(l, shaders.layers_about) shaders=LAYERS />
            <Group title=|l| td_string!(l, shaders.shared) about=|l| td_string!(l, shaders.shared_about) shaders=SHARED />
        </Fold>
    }
}

#[component]
fn Group(title: Words, about: Words, shaders: &'static [Shader]) -> impl IntoView {
    let store = use_store();
    view! {
        <h3>{move || title(store.locale.get())}</h3>
        <p class="about">{move || about(store.locale.get())}</p>
        <ul class="shaders">{shaders.iter().map(|&shader| view! { <ShaderSource shader=shader /> }).collect_view()}</ul>
    }
}
