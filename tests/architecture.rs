//! The house rules that can be read off the sources: who may use whom, who may name which library, what must not be written where.
//!
//! Each rule is a function from sources to a list of breaches, tried on a small bad sample first: a rule that cannot fail is no rule.
#![cfg(not(target_arch = "wasm32"))]
#![expect(clippy::expect_used, reason = "an unreadable source must fail its test at once")]

#[path = "architecture/locales.rs"]
mod locales;
#[path = "architecture/names.rs"]
mod names;
#[path = "architecture/rooms.rs"]
mod rooms;
#[path = "architecture/shaders.rs"]
mod shaders;
#[path = "architecture/shown.rs"]
mod shown;
#[path = "architecture/source.rs"]
mod source;
#[path = "architecture/text.rs"]
mod text;

use source::{File, all_under};

fn sources() -> Vec<File> {
    all_under("src", "rs")
}

#[track_caller]
fn assert_none(breaches: &[String]) {
    assert!(
        breaches.is_empty(),
        "{} breaches:\n  {}",
        breaches.len(),
        breaches.join("\n  ")
    );
}

#[test]
fn rooms_use_only_rooms_below_them() {
    assert_none(&rooms::arrows(&sources()));
}

#[test]
fn every_room_is_in_the_table() {
    assert_none(&rooms::unknown_rooms(&sources()));
}

#[test]
fn libraries_stay_in_their_rooms() {
    assert_none(&names::libraries(&sources()));
}

#[test]
fn pure_rooms_ask_nothing_of_the_machine() {
    assert_none(&names::machine(&sources()));
}

#[test]
fn nothing_waits_for_the_device() {
    assert_none(&names::blocking_readback(&sources()));
}

#[test]
fn people_read_only_what_stands_in_the_locales() {
    assert_none(&text::foreign_letters(&sources()));
    assert_none(&text::words_in_views(&sources()));
}

#[test]
fn nothing_is_left_to_do() {
    let all = [
        sources(),
        all_under("tests", "rs"),
        all_under("xtask/src", "rs"),
        all_under("shaders", "wgsl"),
    ]
    .concat();
    assert_none(&text::left_to_do(&all));
}

#[test]
fn files_can_be_read_in_one_sitting() {
    let all = [sources(), all_under("xtask/src", "rs"), all_under("shaders", "wgsl")].concat();
    assert_none(&text::too_long(&all, 400));
}

#[test]
fn test_files_say_where_they_run() {
    assert_none(&text::unplaced_tests(&all_under("tests", "rs")));
}

#[test]
fn both_languages_say_the_same_things() {
    let english = locales::read("web/locales/en.json");
    let russian = locales::read("web/locales/ru.json");
    assert!(
        english.len() > 100,
        "only {} texts found: is this the right file?",
        english.len()
    );
    assert_none(&locales::differences(&english, &russian));
    let ui: Vec<File> = sources().into_iter().filter(|file| file.room() == "ui").collect();
    assert_none(&locales::unused(&english, &ui));
}

#[test]
fn every_shader_has_a_twin_and_a_test() {
    let shaders = all_under("shaders", "wgsl");
    assert!(!shaders.is_empty(), "no shader found");
    let hosts = [
        all_under("src/engine/kernels", "rs"),
        all_under("src/engine/program", "rs"),
    ];
    assert_none(&shaders::without_twin(&shaders, &hosts.concat()));
    assert_none(&shaders::without_test(&shaders, &all_under("tests", "rs")));
}

#[test]
fn every_shader_is_told_of_on_the_page() {
    let sources = sources();
    let table = sources
        .iter()
        .find(|file| file.path == "src/ui/panels/shader_table.rs")
        .expect("the table of the page");
    assert_none(&shown::told_otherwise(&all_under("shaders", "wgsl"), table));
    assert_none(&shown::held_against_nothing(table, &sources));
}
