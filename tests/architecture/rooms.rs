//! Which room may use which.

use crate::source::{File, Is, Word};

/// Every room, and the rooms that it may use.
const ROOMS: &[(&str, &[&str])] = &[
    ("batch", &[]),
    ("chart", &[]),
    ("setup", &["batch"]),
    ("data", &["batch", "setup"]),
    ("protocol", &["batch", "setup", "data"]),
    ("engine", &["batch", "setup", "data", "protocol"]),
    ("lab", &["batch", "setup", "data", "protocol"]),
    ("bridge", &["batch", "setup", "data", "protocol"]),
    ("ui", &["batch", "setup", "data", "protocol", "lab", "chart", "bridge"]),
    (
        "bin",
        &[
            "batch", "setup", "data", "protocol", "engine", "lab", "chart", "bridge", "ui",
        ],
    ),
];

/// Folders of src/ that the table does not know.
pub(crate) fn unknown_rooms(files: &[File]) -> Vec<String> {
    let known = |room: &str| room == "lib.rs" || ROOMS.iter().any(|(name, _)| *name == room);
    files
        .iter()
        .filter(|f| !known(f.room()))
        .map(|f| format!("{}: no room of that name in the table", f.path))
        .collect()
}

/// Uses of a room that the arrows do not allow.
pub(crate) fn arrows(files: &[File]) -> Vec<String> {
    let mut breaches = Vec::new();
    for file in files {
        let Some((room, allowed)) = ROOMS.iter().find(|(name, _)| *name == file.room()) else {
            continue;
        };
        for (line, used) in uses(file) {
            let known = ROOMS.iter().any(|(name, _)| *name == used);
            if known && used != *room && !allowed.contains(&used.as_str()) {
                breaches.push(format!("{}:{line}: {room} may not use {used}", file.path));
            }
        }
    }
    breaches
}

/// Names that stand right below the crate's root in a path: after `crate::`, after enough `super::`, or in a group after either.
fn uses(file: &File) -> Vec<(usize, String)> {
    let words = file.words();
    let mut found = Vec::new();
    let mut i = 0;
    while i < words.len() {
        let Some(after) = root_path(&words, i, depth(&file.path)) else {
            i += 1;
            continue;
        };
        collect_heads(&words, after, &mut found);
        i = after;
    }
    found
}

/// Modules between the crate's root and the file's own items.
fn depth(path: &str) -> usize {
    let parts = path.trim_start_matches("src/").trim_end_matches(".rs").split('/');
    let parts: Vec<&str> = parts.filter(|p| *p != "mod" && *p != "lib").collect();
    // A binary is a crate of its own; its root is its file.
    if parts.first() == Some(&"bin") {
        parts.len().saturating_sub(2)
    } else {
        parts.len()
    }
}

/// Where a path that reaches the crate's root goes on, if one starts at `i`.
fn root_path(words: &[Word], i: usize, depth: usize) -> Option<usize> {
    let starts = i == 0 || !is_colons(words, i.wrapping_sub(2));
    if !starts {
        return None;
    }
    if (is_name(words, i, "crate") || is_name(words, i, "microbatch_lab")) && is_colons(words, i + 1) {
        return Some(i + 3);
    }
    let (mut at, mut supers) = (i, 0);
    while is_name(words, at, "super") && is_colons(words, at + 1) {
        at += 3;
        supers += 1;
    }
    (supers > 0 && supers >= depth + words[i].depth).then_some(at)
}

fn collect_heads(words: &[Word], at: usize, found: &mut Vec<(usize, String)>) {
    match words.get(at).map(|w| &w.is) {
        Some(Is::Name(name)) => found.push((words[at].line, name.clone())),
        Some(Is::Open('{')) => {
            let mut level = 0;
            let mut head = true;
            for word in &words[at..] {
                match &word.is {
                    Is::Open(_) => level += 1,
                    Is::Close(_) => level -= 1,
                    Is::Sign(',') if level == 1 => head = true,
                    Is::Name(name) if level == 1 && head => {
                        found.push((word.line, name.clone()));
                        head = false;
                    }
                    _ => {}
                }
                if level == 0 {
                    break;
                }
            }
        }
        _ => {}
    }
}

fn is_name(words: &[Word], i: usize, name: &str) -> bool {
    matches!(words.get(i).map(|w| &w.is), Some(Is::Name(found)) if found == name)
}

fn is_colons(words: &[Word], i: usize) -> bool {
    let colon = |j| matches!(words.get(j).map(|w: &Word| &w.is), Some(Is::Sign(':')));
    colon(i) && colon(i.wrapping_add(1))
}

#[test]
fn every_way_of_naming_a_room_is_seen() {
    let breaches = |path: &str, text: &str| arrows(&[File::sample(path, text)]).len();
    assert_eq!(breaches("src/batch/a.rs", "use crate::setup::Setup;"), 1);
    assert_eq!(
        breaches("src/batch/a.rs", "use crate::{batch::Unit, setup::{Setup, data}, ui};"),
        2
    );
    assert_eq!(breaches("src/engine/a.rs", "fn f() { crate::ui::mount() }"), 1);
    assert_eq!(breaches("src/ui/a.rs", "fn f() { crate::engine::open() }"), 1);
    assert_eq!(breaches("src/data/mod.rs", "use super::protocol::Event;"), 1);
    assert_eq!(breaches("src/data/deep/a.rs", "use super::super::super::lab::Lab;"), 1);
    assert_eq!(
        breaches("src/data/deep/a.rs", "use super::super::lab;"),
        0,
        "that is data::lab"
    );
    assert_eq!(
        breaches("src/chart/mod.rs", "mod inner { use super::super::batch::Unit; }"),
        1
    );
    assert_eq!(
        breaches(
            "src/setup/a.rs",
            "use crate::batch::Unit; use super::protocol; // crate::ui"
        ),
        0
    );
    assert_eq!(breaches("src/bin/app.rs", "use microbatch_lab::{bridge, ui};"), 0);
    assert_eq!(unknown_rooms(&[File::sample("src/kitchen/a.rs", "")]).len(), 1);
}
