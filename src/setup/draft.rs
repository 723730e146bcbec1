//! What a person typed, before it is judged.

use std::collections::BTreeMap;

use super::{key::Key, types::Setup};

/// A text for each field; an absent one means the field's default. Holds anything, judged by [`super::parse::parse`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft(BTreeMap<Key, String>);

impl Draft {
    /// The text of `key`.
    pub fn get(&self, key: Key) -> &str {
        self.0.get(&key).map_or(key.default_text(), String::as_str)
    }

    /// Replaces the text of `key`.
    pub fn set(&mut self, key: Key, text: impl Into<String>) {
        let text = text.into();
        if text == key.default_text() {
            self.0.remove(&key);
        } else {
            self.0.insert(key, text);
        }
    }

    /// The same draft with one text replaced.
    #[must_use]
    pub fn with(mut self, key: Key, text: impl Into<String>) -> Self {
        self.set(key, text);
        self
    }

    /// The fields that differ from their defaults, in the table's order.
    pub fn changed(&self) -> impl Iterator<Item = (Key, &str)> {
        self.0.iter().map(|(key, text)| (*key, text.as_str()))
    }
}

impl From<&Setup> for Draft {
    /// The draft that parses to `setup`.
    fn from(setup: &Setup) -> Self {
        super::codec::write(setup)
    }
}
