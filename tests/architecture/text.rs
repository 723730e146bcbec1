//! What may be written in a source, and how much of it.

use crate::source::{File, Is};

/// Attributes of an element that people read or hear.
const SPOKEN: &[&str] = &[
    "label",
    "title",
    "placeholder",
    "alt",
    "roledescription",
    "valuetext",
    "description",
];

/// A language goes by its own name, whatever the page speaks.
const RUSSIAN: &str = "\u{420}\u{443}\u{441}\u{441}\u{43a}\u{438}\u{439}";

/// Letters of another alphabet than English in names or strings.
pub(crate) fn foreign_letters(files: &[File]) -> Vec<String> {
    let mut breaches = Vec::new();
    for file in files {
        for word in file.words() {
            let (Is::Name(text) | Is::Text(text)) = &word.is else {
                continue;
            };
            if text.trim_matches('"') != RUSSIAN && text.chars().any(|c| ('\u{400}'..='\u{4ff}').contains(&c)) {
                breaches.push(format!("{}:{}: {text} belongs into web/locales", file.path, word.line));
            }
        }
    }
    breaches
}

/// Words between tags, and in spoken attributes, of a `view!` in ui.
pub(crate) fn words_in_views(files: &[File]) -> Vec<String> {
    let mut breaches = Vec::new();
    for file in files.iter().filter(|f| f.room() == "ui") {
        let words = file.words();
        for (i, word) in words.iter().enumerate() {
            let Is::Text(text) = &word.is else { continue };
            let is_string = text.starts_with(['"', 'r']);
            // Shorter ones are symbols of formulas.
            let has_words = text
                .split(|c: char| !c.is_alphabetic())
                .any(|part| part.chars().count() > 2);
            if word.views == 0 || !is_string || !has_words {
                continue;
            }
            let before = i.checked_sub(1).map(|j| &words[j].is);
            let attribute = (before == Some(&Is::Sign('=')))
                .then(|| i.checked_sub(2).map(|j| &words[j].is))
                .flatten();
            let shown = match attribute {
                Some(Is::Name(name)) => SPOKEN.contains(&name.as_str()),
                Some(_) => false,
                // Right after a tag, or after another child; anything else is an argument of code inside the view.
                None => matches!(before, Some(Is::Sign('>'))),
            };
            if shown {
                breaches.push(format!("{}:{}: {text} belongs into web/locales", file.path, word.line));
            }
        }
    }
    breaches
}

/// Marks of unfinished work.
pub(crate) fn left_to_do(files: &[File]) -> Vec<String> {
    // Written apart, so that this file does not find itself.
    let marks = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("un", "implemented!"),
        concat!("to", "do!("),
        concat!("Being ", "written"),
    ];
    let mut breaches = Vec::new();
    for file in files {
        for (i, line) in file.text.lines().enumerate() {
            if let Some(mark) = marks.iter().find(|mark| line.contains(**mark)) {
                breaches.push(format!("{}:{}: {mark}", file.path, i + 1));
            }
        }
    }
    breaches
}

/// Files with more than `most` lines before their own tests.
pub(crate) fn too_long(files: &[File], most: usize) -> Vec<String> {
    let lines = |file: &File| file.text.lines().take_while(|line| *line != "#[cfg(test)]").count();
    files
        .iter()
        .filter(|f| lines(f) > most)
        .map(|f| format!("{} has {} lines, {most} is the most", f.path, lines(f)))
        .collect()
}

/// Test crates (a file, or a folder with a main.rs) that do not say whether they run natively or in a browser; each would be built for both.
pub(crate) fn unplaced_tests(files: &[File]) -> Vec<String> {
    files
        .iter()
        .filter(|f| f.path.matches('/').count() == 1 || f.path.ends_with("/main.rs"))
        .filter(|f| {
            // The second is how a test that runs in both places brings its attribute.
            let says = |line: &str| {
                (line.starts_with("#![cfg(") && line.contains("target_arch = \"wasm32\""))
                    || line.contains("wasm_bindgen_test as test")
            };
            !f.text.lines().any(says)
        })
        .map(|f| {
            format!(
                "{}: begin with #![cfg(not(target_arch = \"wasm32\"))], or without the not",
                f.path
            )
        })
        .collect()
}

#[test]
fn text_for_people_is_seen() {
    assert_eq!(
        foreign_letters(&[File::sample(
            "src/lab/a.rs",
            "const A: &str = \"\u{448}\u{430}\u{433}\";"
        )])
        .len(),
        1
    );
    assert_eq!(
        foreign_letters(&[File::sample(
            "src/lab/a.rs",
            "// \u{448}\u{430}\u{433}\nconst A: char = '\u{b7}';"
        )])
        .len(),
        0
    );
    let view =
        |text: &str| words_in_views(&[File::sample("src/ui/a.rs", &format!("fn f() {{ view! {{ {text} }} }}"))]).len();
    assert_eq!(view("<p>\"Loss\"</p>"), 1);
    assert_eq!(view("<p aria-label=\"Loss of a group\"></p>"), 1);
    assert_eq!(view("<p title=\"Loss\" class=\"wide\">{x}</p>"), 1);
    assert_eq!(view("<p class=\"wide panel\">{t(\"key\")} \"\u{b7}\" \"%\"</p>"), 0);
}

#[test]
fn unfinished_work_is_seen() {
    assert_eq!(
        left_to_do(&[File::sample("src/a.rs", concat!("fn f() {}\n// TO", "DO: more"))]).len(),
        1
    );
    assert_eq!(left_to_do(&[File::sample("src/a.rs", "fn f() {}")]).len(), 0);
}

#[test]
fn length_is_seen() {
    let file = File::sample("src/a.rs", "1\n2\n3\n#[cfg(test)]\n4\n5");
    assert_eq!(too_long(std::slice::from_ref(&file), 2).len(), 1);
    assert_eq!(too_long(&[file], 3).len(), 0);
}

#[test]
fn unplaced_tests_are_seen() {
    assert_eq!(
        unplaced_tests(&[File::sample("tests/a.rs", "#[test] fn f() {}")]).len(),
        1
    );
    assert_eq!(
        unplaced_tests(&[File::sample("tests/a.rs", "#![cfg(target_arch = \"wasm32\")]")]).len(),
        0
    );
    assert_eq!(
        unplaced_tests(&[File::sample("tests/support/a.rs", "fn f() {}")]).len(),
        0
    );
}
