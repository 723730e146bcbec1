//! What is known of a way to count or to go wrong: what one notices, and where it is found.

use leptos::prelude::*;

use crate::{
    batch::Symptom,
    ui::{store::use_store, text::tr, words::symptoms},
};

/// Symptom and sources of one row of a table.
#[component]
pub fn RowFacts(
    /// What one notices.
    symptom: Symptom,
    /// Reports and documents.
    sources: &'static [&'static str],
) -> impl IntoView {
    let store = use_store();
    view! {
        <dl class="row-facts">
            <div>
                <dt>{tr!(store, recipe.symptom)}</dt>
                <dd>{move || symptoms::symptom(store.locale.get(), symptom)}</dd>
            </div>
            <div>
                <dt>{tr!(store, recipe.sources)}</dt>
                <dd>
                    <ul>{sources.iter().map(|source| view! { <li>{linked(source)}</li> }).collect_view()}</ul>
                </dd>
            </div>
        </dl>
    }
}

fn linked(source: &'static str) -> AnyView {
    match address(source) {
        Some(address) => view! { <a href=address target="_blank" rel="noreferrer">{source}</a> }.into_any(),
        None => source.into_any(),
    }
}

/// Where a source that is an issue (`owner/name#1`), a pull request (`owner/name PR 1`) or a page (`host.name/path`) can be read.
fn address(source: &str) -> Option<String> {
    if source.contains(": ") {
        return None;
    }
    if let Some((repository, number)) = source.split_once('#') {
        return Some(format!("https://github.com/{repository}/issues/{number}"));
    }
    if let Some((repository, number)) = source.split_once(" PR ") {
        return Some(format!("https://github.com/{repository}/pull/{number}"));
    }
    let host = source.split('/').next().unwrap_or_default();
    host.contains('.').then(|| format!("https://{source}"))
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn sources_with_an_address_are_links() {
        let at = |source| address(source).unwrap_or_default();
        assert_eq!(
            at("huggingface/accelerate#616"),
            "https://github.com/huggingface/accelerate/issues/616"
        );
        assert_eq!(
            at("huggingface/transformers PR 35207"),
            "https://github.com/huggingface/transformers/pull/35207"
        );
        assert_eq!(
            at("huggingface.co/blog/gradient_accumulation"),
            "https://huggingface.co/blog/gradient_accumulation"
        );
        assert_eq!(at("pytorch.org/docs: CrossEntropyLoss"), "");
        assert_eq!(at("karpathy/nanoGPT: train.py"), "");
    }
}
