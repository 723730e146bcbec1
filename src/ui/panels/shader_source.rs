//! One shader: what it does, what it is held against, and its text once somebody asks for it.

use leptos::prelude::*;

use super::{
    fold::is_open,
    shader_table::{Shader, Twin},
};
use crate::ui::{
    browser,
    parts::try_again::TryAgain,
    store::{Store, use_store},
    text::tr,
};

/// How it stands with the text.
#[derive(Clone, Debug, PartialEq)]
enum Text {
    NotAsked,
    Fetching,
    Here(String),
    Failed,
}

/// One file of the list.
#[component]
pub fn ShaderSource(
    /// Which.
    shader: Shader,
) -> impl IntoView {
    let store = use_store();
    let Shader { file, about, twin } = shader;
    let id = id_of(file);
    let text = RwSignal::new(Text::NotAsked);
    let opened = move |event| {
        if is_open(&event) && matches!(text.get_untracked(), Text::NotAsked | Text::Failed) {
            fetch(file, text);
        }
    };
    let body = move || match text.get() {
        Text::NotAsked => ().into_any(),
        Text::Fetching => view! { <p class="about">{tr!(store, later.fetching)}</p> }.into_any(),
        Text::Failed => view! { <TryAgain on_again=Callback::new(move |()| fetch(file, text)) /> }.into_any(),
        Text::Here(text) => shown(store, file, text),
    };
    view! {
        <li id=id.clone()>
            <h4 id=format!("{id}-name")>
                <code>{file}</code>
            </h4>
            <p>{move || about(store.locale.get())}</p>
            {held(store, twin)}
            <details on:toggle=opened>
                <summary>{tr!(store, shaders.source)} <span class="sr-only">" " {file}</span></summary>
                {body}
            </details>
        </li>
    }
}

fn held(store: Store, twin: Twin) -> AnyView {
    let (words, function) = match twin {
        Twin::Value(function) => (tr!(store, shaders.held), function),
        Twin::Gradient(function) => (tr!(store, shaders.held_gradient), function),
        Twin::Users => return ().into_any(),
    };
    view! { <p class="about">{words} " " <code>{function}</code></p> }.into_any()
}

/// The text, and above it the files that it imports.
fn shown(store: Store, file: &'static str, text: String) -> AnyView {
    let imports: Vec<String> = text
        .lines()
        .filter_map(|line| Some(format!("{}.wgsl", line.strip_prefix("#import ")?)))
        .collect();
    let links = (!imports.is_empty()).then(|| {
        view! {
            <p class="shader-imports">
                {tr!(store, shaders.imports)}
                {imports.into_iter().map(link).collect_view()}
            </p>
        }
    });
    // It scrolls, so it takes the keys that scroll; those of the page rest meanwhile.
    view! {
        {links}
        <pre class="source" tabindex="0" role="region" aria-labelledby=format!("{}-name", id_of(file)) data-keys="">
            <code>{text}</code>
        </pre>
    }
    .into_any()
}

/// Opens another file of the list. No `href` of this page: the address after `#` is the experiment.
fn link(file: String) -> impl IntoView {
    let summary = format!("#{} > details > summary", id_of(&file));
    let lead = move |_| {
        // The entry stands in the same list; were it gone, nothing could be led to.
        let _there = browser::reveal(std::slice::from_ref(&summary));
    };
    view! {
        " "
        <button type="button" class="link" on:click=lead>
            <code>{file}</code>
        </button>
    }
}

fn fetch(file: &'static str, text: RwSignal<Text>) {
    text.set(Text::Fetching);
    leptos::task::spawn_local(async move {
        let found = browser::text_of(&address(file)).await;
        // The panel may be closed by then.
        text.try_set(found.map_or(Text::Failed, Text::Here));
    });
}

/// Where the file lies. The document names the folder, with the hash that the build gave it: a browser that keeps the file shows no text of
/// another build.
fn address(file: &str) -> String {
    format!("{}/{file}", browser::named("shaders").unwrap_or_default())
}

fn id_of(file: &str) -> String {
    format!("shader-{}", file.trim_end_matches(".wgsl").replace('/', "-"))
}
