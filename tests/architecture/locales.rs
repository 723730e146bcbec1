//! What two languages must have in common.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde_json::Value;

use crate::source::File;

/// Texts by their dotted key.
pub(crate) type Texts = BTreeMap<String, String>;

/// Endings of keys that stand for one plural form; languages have different ones.
const PLURALS: [&str; 6] = ["_zero", "_one", "_two", "_few", "_many", "_other"];

/// Reads a file of texts.
pub(crate) fn read(path: &str) -> Texts {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("the file is there");
    flat(&serde_json::from_str(&text).expect("the file is JSON"))
}

fn flat(value: &Value) -> Texts {
    let mut texts = Texts::new();
    add("", value, &mut texts);
    texts
}

fn add(key: &str, value: &Value, texts: &mut Texts) {
    match value {
        Value::Object(map) => {
            for (name, inner) in map {
                let key = if key.is_empty() {
                    name.clone()
                } else {
                    format!("{key}.{name}")
                };
                add(&key, inner, texts);
            }
        }
        Value::String(text) => drop(texts.insert(key.to_owned(), text.clone())),
        other => drop(texts.insert(key.to_owned(), other.to_string())),
    }
}

/// Keys of one language that the other lacks, texts without a word, and texts that name other arguments.
pub(crate) fn differences(english: &Texts, russian: &Texts) -> Vec<String> {
    let mut found = Vec::new();
    let (in_english, in_russian) = (by_stem(english), by_stem(russian));
    for key in in_english.keys().filter(|k| !in_russian.contains_key(*k)) {
        found.push(format!("{key} has no Russian text"));
    }
    for key in in_russian.keys().filter(|k| !in_english.contains_key(*k)) {
        found.push(format!("{key} has no English text"));
    }
    for (key, arguments) in &in_english {
        if in_russian.get(key).is_some_and(|other| other != arguments) {
            found.push(format!("{key} names other arguments in Russian than in English"));
        }
    }
    for (key, text) in english.iter().chain(russian) {
        if text.trim().is_empty() {
            found.push(format!("{key} is empty"));
        }
    }
    found
}

/// Arguments named by the texts of each key, plural forms taken together.
fn by_stem(texts: &Texts) -> BTreeMap<&str, BTreeSet<String>> {
    let mut stems: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (key, text) in texts {
        let stem = PLURALS
            .iter()
            .find_map(|ending| key.strip_suffix(ending))
            .unwrap_or(key);
        let arguments = text
            .split("{{")
            .skip(1)
            .filter_map(|rest| Some(rest.split_once("}}")?.0.trim().to_owned()));
        stems.entry(stem).or_default().extend(arguments);
    }
    stems
}

/// Texts that no source names: `group.key` must stand in it as it is.
pub(crate) fn unused(texts: &Texts, sources: &[File]) -> Vec<String> {
    let named: BTreeSet<String> = sources.iter().flat_map(|file| dotted(&file.text)).collect();
    let mut stems: Vec<&str> = by_stem(texts).into_keys().collect();
    // A key may itself end like a plural form.
    stems
        .retain(|stem| !named.contains(*stem) && !texts.keys().any(|key| key.starts_with(stem) && named.contains(key)));
    stems.iter().map(|stem| format!("nothing shows {stem}")).collect()
}

/// Names joined by dots, as keys and field accesses are written.
fn dotted(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'))
        .filter(|word| word.contains('.'))
        .map(str::to_owned)
}

#[test]
fn every_text_without_a_reader_is_seen() {
    let texts = flat(&serde_json::from_str(r#"{"a": {"b": "x", "n_one": "1", "n_other": "2", "b_c": "y"}}"#).unwrap());
    let left = |source: &str| unused(&texts, &[File::sample("src/ui/a.rs", source)]);
    assert_eq!(
        left("tr!(store, a.b); td_string!(l, a.n, count = 1); f(l, a.b_c)"),
        Vec::<String>::new()
    );
    assert_eq!(left("tr!(store, a.n); td_string!(l, a.b)"), ["nothing shows a.b_c"]);
    assert_eq!(left("a.nothing, x.a.b, a.b.c").len(), 3);
}

#[test]
fn every_difference_is_seen() {
    let texts = |json: &str| flat(&serde_json::from_str(json).unwrap());
    let english =
        texts(r#"{"a": {"b": "{{ n }} steps"}, "u_one": "{{ count }} update", "u_other": "{{ count }} updates"}"#);
    let same = texts(
        r#"{"a": {"b": "x {{ n }}"}, "u_one": "1 {{ count }}", "u_few": "2 {{ count }}", "u_many": "5 {{ count }}"}"#,
    );
    assert_eq!(differences(&english, &same), Vec::<String>::new());
    assert_eq!(
        differences(&english, &texts(r#"{"a": {"b": "x {{ n }}"}}"#)).len(),
        1,
        "a key is missing"
    );
    let other = texts(r#"{"a": {"b": "x {{ m }}"}, "u_one": "{{ count }}", "c": "new"}"#);
    assert_eq!(
        differences(&english, &other).len(),
        2,
        "another argument, a key too many"
    );
    let empty = texts(r#"{"a": {"b": "{{ n }}"}, "u_one": "{{ count }}", "u_few": " "}"#);
    assert_eq!(differences(&english, &empty).len(), 1, "an empty text");
}
