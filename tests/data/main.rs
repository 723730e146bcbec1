//! From a Setup to examples: what is generated, read, cut and refused.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::expect_used, reason = "strategies and helpers fail their test at once")]

#[path = "../support/mod.rs"]
mod support;

mod limits;
mod own;
mod summary;
mod tasks;

use microbatch_lab::{
    batch::Example,
    data::{self, Corpus},
    setup::{Draft, Key, Setup, parse::parse},
};

fn setup(changes: &[(Key, &str)]) -> Setup {
    let draft = changes
        .iter()
        .fold(Draft::default(), |draft, &(key, text)| draft.with(key, text));
    parse(&draft).expect("a test's own setup")
}

fn build(changes: &[(Key, &str)]) -> Corpus {
    data::build(&setup(changes), None).expect("a test's own data")
}

/// Any length, so that only the data decides.
const MLP: (Key, &str) = (Key::Model, "token_mlp");

/// The characters of an example, and those of them that are supervised.
fn written(corpus: &Corpus, example: &Example) -> (String, String) {
    let character = |id: u32| corpus.vocabulary.character(id).expect("no padding inside an example");
    let last = example.labels.last().and_then(|&label| u32::try_from(label).ok());
    let all = example.tokens.iter().copied().chain(last).map(character).collect();
    let supervised = example
        .labels
        .iter()
        .filter_map(|&label| u32::try_from(label).ok())
        .map(character)
        .collect();
    (all, supervised)
}
