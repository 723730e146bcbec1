//! What is written, `docs/journal.md` says, and the other way round.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{bare, device, facts, header, inside, read, row, split_and_whole, two_lanes};
use crate::{
    protocol::{
        Outcome,
        journal::{JOURNAL_VERSION, Writer},
    },
    setup::{Draft, Key, parse::parse},
};

const SCHEMA: &str = include_str!("../../../../docs/journal.md");

/// The rows of the table below the heading `name` of the schema: a field and its type.
fn documented(name: &str) -> BTreeMap<String, String> {
    let heading = format!("## {name}\n");
    let (_, section) = SCHEMA.split_once(&heading).expect("the schema has that heading");
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        (cells[1].trim_matches('`').to_owned(), cells[2].to_owned())
    })
    .collect()
}

/// Every field of a line by its path, with each value that it has.
fn fields(line: &Value) -> Vec<(String, Value)> {
    fn add(path: &str, value: &Value, out: &mut Vec<(String, Value)>) {
        let Value::Object(map) = value else {
            if let Value::Array(items) = value {
                for item in items {
                    add(&format!("{path}[]"), item, out);
                }
            }
            return;
        };
        for (name, inner) in map {
            let path = if path.is_empty() {
                name.clone()
            } else {
                format!("{path}.{name}")
            };
            out.push((path.clone(), inner.clone()));
            if path != "setup" {
                add(&path, inner, out);
            }
        }
    }
    let mut out = Vec::new();
    add("", line, &mut out);
    out
}

fn is(value: &Value, kind: &str) -> bool {
    if let Some(kind) = kind.strip_prefix("list of (").and_then(|rest| rest.strip_suffix(')')) {
        return value
            .as_array()
            .is_some_and(|items| items.iter().all(|item| is(item, kind)));
    }
    if let Some(kind) = kind.strip_suffix(" or null") {
        return value.is_null() || is(value, kind);
    }
    if let Some(kind) = kind.strip_prefix("list of ") {
        return value
            .as_array()
            .is_some_and(|items| items.iter().all(|item| is(item, kind)));
    }
    match kind {
        "integer" => value.is_u64(),
        "number" => value.is_number(),
        "text" => value.is_string(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        other => panic!("{other} is no type"),
    }
}

fn sample() -> Vec<Value> {
    let mut lines = vec![header(&parse(&Draft::default()).unwrap(), &facts(), &device())];
    let mut writer = Writer::new(&split_and_whole());
    lines.extend(writer.lines(&two_lanes()));
    let mut sparse = row(vec![bare(vec![f64::NAN, 1.0], &[512, 1536]), bare(vec![], &[])]);
    sparse.memory = None;
    sparse.lanes[0].inner = vec![inside(0, Outcome::NonFiniteGradient)];
    sparse.lanes[1].logged_loss = f64::NAN;
    sparse.lanes[1].clip_norms = vec![f64::NAN];
    lines.extend(writer.lines(&sparse));
    read(&lines)
}

#[test]
fn every_field_that_is_written_is_documented_and_the_other_way_round() {
    let lines = sample();
    for kind in ["run", "microbatch", "reduction", "attempt"] {
        let told = documented(kind);
        let written: Vec<(String, Value)> = lines
            .iter()
            .filter(|line| line["kind"] == kind)
            .flat_map(fields)
            .collect();
        let names: BTreeSet<&String> = written.iter().map(|(name, _)| name).collect();
        assert_eq!(told.keys().collect::<BTreeSet<_>>(), names, "the fields of {kind}");
        for (name, value) in &written {
            assert!(is(value, &told[name]), "{kind}.{name} is {value}, not {}", told[name]);
        }
    }
    let keys: BTreeSet<String> = Key::ALL.iter().map(|key| key.name().to_owned()).collect();
    let keys = &keys | &BTreeSet::from(["v".to_owned()]);
    assert_eq!(
        documented("The setup's keys").into_keys().collect::<BTreeSet<_>>(),
        keys
    );
    assert!(SCHEMA.contains(&format!("journal {JOURNAL_VERSION}")));
}

#[test]
fn a_wrong_schema_is_seen() {
    assert!(is(&json!([1, 2]), "list of integer") && !is(&json!([1.5]), "list of integer"));
    assert!(is(&Value::Null, "number or null") && !is(&Value::Null, "number"));
    assert!(!is(&json!("x"), "number or null"));
    let names: Vec<String> = fields(&json!({"a": {"b": [{"c": 1}]}}))
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["a", "a.b", "a.b[].c"]);
}
