//! Who may name which library, the machine, or a call that waits.

use crate::source::{File, Is, Word};

/// Crates by the start of their name, and the rooms that may name them.
const LIBRARIES: &[(&[&str], &[&str])] = &[
    (&["burn", "cubecl", "wgpu"], &["engine"]),
    (&["leptos", "reactive_stores", "reactive_graph", "leptos_i18n"], &["ui"]),
    (&["web_sys", "gloo_file"], &["bridge", "ui", "bin"]),
    // In the library the mark would ask tests for a second wasm.
    (&["wasm_split"], &["bin"]),
];

/// Rooms that compute: the same input gives the same output, everywhere.
const PURE: &[&str] = &["batch", "setup", "data", "protocol", "lab", "chart"];

/// Names that reach for the clock, for entropy, for files, or for an order that changes from run to run.
const MACHINE: &[&str] = &[
    "Instant",
    "SystemTime",
    "web_time",
    "getrandom",
    "OsRng",
    "SysRng",
    "ThreadRng",
    "thread_rng",
    "from_os_rng",
    "RandomState",
    "HashMap",
    "HashSet",
    "spawn_local",
    "js_sys",
    "wasm_bindgen",
];

/// Modules of std that do so.
const MACHINE_MODULES: &[&str] = &["fs", "env", "net", "process", "thread", "time"];

/// Methods that wait for the device; in a browser they panic.
const BLOCKING: &[&str] = &[
    "into_data",
    "into_data_as",
    "into_data_dtype",
    "to_data",
    "to_data_as",
    "to_data_dtype",
    "into_scalar",
    "block_on",
];

/// Libraries named outside of the rooms they belong to.
pub(crate) fn libraries(files: &[File]) -> Vec<String> {
    let mut breaches = Vec::new();
    for file in files {
        for (line, name) in crates(&file.words()) {
            let rule = LIBRARIES
                .iter()
                .find(|(starts, _)| starts.iter().any(|s| is_or_extends(&name, s)));
            if let Some((_, rooms)) = rule
                && !rooms.contains(&file.room())
            {
                breaches.push(format!(
                    "{}:{line}: only {} may name {name}",
                    file.path,
                    rooms.join(", ")
                ));
            }
        }
    }
    breaches
}

/// Pure rooms that name the machine.
pub(crate) fn machine(files: &[File]) -> Vec<String> {
    let mut breaches = Vec::new();
    for file in files.iter().filter(|f| PURE.contains(&f.room())) {
        let words = file.words();
        for (i, word) in words.iter().enumerate() {
            let Is::Name(name) = &word.is else { continue };
            let of_std = i >= 3 && words[i - 3].is == Is::Name("std".to_owned());
            if MACHINE.contains(&name.as_str()) || (of_std && MACHINE_MODULES.contains(&name.as_str())) {
                breaches.push(format!(
                    "{}:{}: {name} has no place in a pure room",
                    file.path, word.line
                ));
            }
        }
    }
    breaches
}

/// Calls that wait for the device, outside of the command line, which has a thread to wait on.
pub(crate) fn blocking_readback(files: &[File]) -> Vec<String> {
    let mut breaches = Vec::new();
    for file in files.iter().filter(|f| !f.path.starts_with("src/bin/lab")) {
        let words = file.words();
        for (i, word) in words.iter().enumerate() {
            let Is::Name(name) = &word.is else { continue };
            let called = words.get(i + 1).is_some_and(|next| next.is == Is::Open('('));
            if called && BLOCKING.contains(&name.as_str()) {
                breaches.push(format!("{}:{}: {name} waits for the device", file.path, word.line));
            }
        }
    }
    breaches
}

fn is_or_extends(name: &str, start: &str) -> bool {
    name.strip_prefix(start)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

/// Names that start a path (`x::...`), and those right after `use`.
fn crates(words: &[Word]) -> Vec<(usize, String)> {
    let colon = |j: usize| matches!(words.get(j).map(|w| &w.is), Some(Is::Sign(':')));
    let mut found = Vec::new();
    for (i, word) in words.iter().enumerate() {
        let Is::Name(name) = &word.is else { continue };
        let continues = i >= 3 && colon(i - 1) && colon(i - 2) && matches!(words[i - 3].is, Is::Name(_));
        let opens = colon(i + 1) && colon(i + 2);
        let used = i >= 1 && words[i - 1].is == Is::Name("use".to_owned());
        if !continues && (opens || used) {
            found.push((word.line, name.clone()));
        }
    }
    found
}

#[test]
fn every_way_of_naming_a_library_is_seen() {
    let breaches = |path: &str, text: &str| libraries(&[File::sample(path, text)]).len();
    assert_eq!(breaches("src/lab/a.rs", "use burn::tensor::Tensor;"), 1);
    assert_eq!(breaches("src/lab/a.rs", "fn f(x: burn_flex::Flex) {}"), 1);
    assert_eq!(breaches("src/lab/a.rs", "fn f(x: ::wgpu::Device) {}"), 1);
    assert_eq!(breaches("src/bin/lab.rs", "use cubecl as c;"), 1);
    assert_eq!(breaches("src/ui/a.rs", "use wasm_split_helpers::wasm_split;"), 1);
    assert_eq!(breaches("src/engine/a.rs", "use leptos::prelude::*;"), 1);
    assert_eq!(breaches("src/engine/a.rs", "fn f() { web_sys::window(); }"), 1);
    assert_eq!(
        breaches("src/engine/a.rs", "use burn::prelude::*; use wgpu::Adapter;"),
        0
    );
    assert_eq!(
        breaches(
            "src/lab/a.rs",
            "use crate::data::burn; fn burn(burned: u8) {} // wgpu::Device"
        ),
        0
    );
}

#[test]
fn the_machine_is_seen() {
    let breaches = |text: &str| machine(&[File::sample("src/data/a.rs", text)]).len();
    assert_eq!(breaches("use std::time::Duration;"), 1);
    assert_eq!(breaches("fn f() { std::fs::read(\"x\"); }"), 1);
    assert_eq!(breaches("use std::collections::HashMap;"), 1);
    assert_eq!(breaches("use std::collections::BTreeMap; fn time(fs: u8) {}"), 0);
    assert_eq!(
        machine(&[File::sample("src/bridge/a.rs", "use web_time::Instant;")]).len(),
        0
    );
}

#[test]
fn waiting_is_seen() {
    let breaches = |text: &str| blocking_readback(&[File::sample("src/engine/a.rs", text)]).len();
    assert_eq!(breaches("fn f(t: T) { t.into_data(); }"), 1);
    assert_eq!(breaches("fn f(t: T) { pollster::block_on(t) }"), 1);
    assert_eq!(breaches("async fn f(t: T) { t.into_data_async().await; }"), 0);
    assert_eq!(breaches("#[cfg(test)] mod tests { fn f(t: T) { t.into_data(); } }"), 0);
}
