//! A draft as a TOML or JSON file of flat keys.

use std::{collections::BTreeSet, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
};

use super::{
    Draft, Key,
    codec::{VERSION, VERSION_KEY},
    matters::matters,
};

/// Why a setup file cannot be read: syntax, an unknown or repeated key, a value that is neither text, number, boolean nor list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct FileError {
    /// Where, from 1, if the reader knows.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
}

/// Every field that matters or was changed, one a line.
pub fn to_toml(draft: &Draft) -> String {
    let lines: Vec<String> = entries(draft)
        .map(|(name, value)| format!("{name} = {}", toml_value(&value)))
        .collect();
    lines.join("\n") + "\n"
}

/// Reads a TOML file. Known keys with bad values are kept in the draft, to be judged by [`super::parse::parse`].
pub fn from_toml(text: &str) -> Result<Draft, FileError> {
    let file: File = toml::from_str(text).map_err(|error| FileError {
        line: error
            .span()
            .and_then(|span| text.get(..span.start))
            .map(|before| before.matches('\n').count() + 1),
        message: error.message().to_owned(),
    })?;
    Ok(file.0)
}

/// Every field that matters or was changed, as one JSON object.
pub fn to_json(draft: &Draft) -> String {
    let lines: Vec<String> = entries(draft)
        .map(|(name, value)| format!("  \"{name}\": {}", json_value(&value)))
        .collect();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

/// Reads a JSON object. Known keys with bad values are kept in the draft, to be judged by [`super::parse::parse`].
pub fn from_json(text: &str) -> Result<Draft, FileError> {
    let file: File = serde_json::from_str(text).map_err(|error| FileError {
        line: (error.line() > 0).then_some(error.line()),
        message: error.to_string(),
    })?;
    Ok(file.0)
}

enum Value<'a> {
    /// Written bare: a number that reads back as the same text.
    Number(&'a str),
    Text(&'a str),
}

fn entries(draft: &Draft) -> impl Iterator<Item = (&'static str, Value<'_>)> {
    let written = |key: &Key| matters(draft, *key) || draft.get(*key) != key.default_text();
    let fields = Key::ALL
        .iter()
        .copied()
        .filter(written)
        .map(|key| (key.name(), value(draft.get(key))));
    std::iter::once((VERSION_KEY, Value::Number(VERSION))).chain(fields)
}

fn value(text: &str) -> Value<'_> {
    let integer = text.parse::<i64>().is_ok_and(|number| number.to_string() == text);
    // Both formats ask for a digit on each side of the point, and read other spellings as other texts.
    let float = text.contains('.') && text.parse::<f64>().is_ok_and(|number| number.to_string() == text);
    if integer || float {
        Value::Number(text)
    } else {
        Value::Text(text)
    }
}

fn toml_value(value: &Value<'_>) -> String {
    match value {
        Value::Number(number) => (*number).to_owned(),
        Value::Text(text) => toml::Value::String((*text).to_owned()).to_string(),
    }
}

fn json_value(value: &Value<'_>) -> String {
    match value {
        Value::Number(number) => (*number).to_owned(),
        Value::Text(text) => serde_json::Value::String((*text).to_owned()).to_string(),
    }
}

/// A draft read key by key, so that a reader's error carries its line.
struct File(Draft);

impl<'de> Deserialize<'de> for File {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FileVisitor)
    }
}

struct FileVisitor;

impl<'de> Visitor<'de> for FileVisitor {
    type Value = File;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the keys of a setup")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<File, A::Error> {
        let mut draft = Draft::default();
        let mut seen = BTreeSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if name == VERSION_KEY {
                map.next_value_seed(VersionCheck)?;
                continue;
            }
            let Some(key) = Key::named(&name) else {
                map.next_value_seed(Refusal(format!("`{name}` is no key of a setup")))?;
                continue;
            };
            if !seen.insert(key) {
                map.next_value_seed(Refusal(format!("`{name}` stands twice")))?;
            }
            let Text(text) = map.next_value()?;
            draft.set(key, text);
        }
        Ok(File(draft))
    }
}

/// Refuses a key at its value, the place that readers know the line of.
struct Refusal(String);

impl<'de> DeserializeSeed<'de> for Refusal {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, _: D) -> Result<(), D::Error> {
        Err(D::Error::custom(self.0))
    }
}

/// Refuses another version.
struct VersionCheck;

impl<'de> DeserializeSeed<'de> for VersionCheck {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let Text(version) = Text::deserialize(deserializer)?;
        if version == VERSION {
            return Ok(());
        }
        Err(D::Error::custom(format!(
            "version {version} is not {VERSION}, the one this lab reads"
        )))
    }
}

/// A value as the text that a person would have typed.
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number, true, false or a list of them")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
        Ok(Text(text.to_owned()))
    }

    fn visit_bool<E: Error>(self, yes: bool) -> Result<Text, E> {
        Ok(Text(if yes { "yes" } else { "no" }.to_owned()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Text, E> {
        Ok(Text(number.to_string()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Text, E> {
        Ok(Text(number.to_string()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Text, E> {
        Ok(Text(number.to_string()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Text, A::Error> {
        let mut texts = Vec::new();
        while let Some(Text(text)) = list.next_element()? {
            texts.push(text);
        }
        Ok(Text(texts.join(", ")))
    }
}
