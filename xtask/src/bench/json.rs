//! JSON, as far as results of measurements need it: read, looked into, written. xtask has no dependencies.

use std::{collections::BTreeMap, fmt};

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`, and a number that JSON cannot say.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// Any number.
    Number(f64),
    /// A text.
    Text(String),
    /// Values in order.
    List(Vec<Self>),
    /// Values by name.
    Object(BTreeMap<String, Self>),
}

/// What is missing counts as this.
static NULL: Json = Json::Null;

impl Json {
    /// Reads one value and nothing after it.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut reader = Reader { rest: text };
        let value = reader.value()?;
        reader.skip_blanks();
        if reader.rest.is_empty() {
            Ok(value)
        } else {
            Err(reader.error("nothing more"))
        }
    }

    /// The value of this name; `Null` where there is none.
    pub fn get(&self, name: &str) -> &Self {
        match self {
            Self::Object(all) => all.get(name).unwrap_or(&NULL),
            _ => &NULL,
        }
    }

    /// The values of a list; none where it is no list.
    pub fn list(&self) -> &[Self] {
        match self {
            Self::List(all) => all,
            _ => &[],
        }
    }

    /// As a number.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The numbers of a list; what is no number is left out.
    pub fn numbers(&self) -> Vec<f64> {
        self.list().iter().filter_map(Self::number).collect()
    }

    /// As a text.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// An object of these.
    pub fn object<const N: usize>(entries: [(&str, Self); N]) -> Self {
        Self::Object(
            entries
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Option<f64>> for Json {
    fn from(number: Option<f64>) -> Self {
        number.map_or(Self::Null, Self::Number)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Number(number) if number.is_finite() => write!(f, "{number}"),
            Self::Null | Self::Number(_) => write!(f, "null"),
            Self::Bool(truth) => write!(f, "{truth}"),
            Self::Text(text) => write_text(f, text),
            Self::List(all) => {
                write!(f, "[")?;
                for (i, value) in all.iter().enumerate() {
                    write!(f, "{}{value}", if i > 0 { "," } else { "" })?;
                }
                write!(f, "]")
            }
            Self::Object(all) => {
                write!(f, "{{")?;
                for (i, (name, value)) in all.iter().enumerate() {
                    write!(f, "{}", if i > 0 { "," } else { "" })?;
                    write_text(f, name)?;
                    write!(f, ":{value}")?;
                }
                write!(f, "}}")
            }
        }
    }
}

fn write_text(f: &mut fmt::Formatter, text: &str) -> fmt::Result {
    write!(f, "\"")?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            c if c < ' ' => write!(f, "\\u{:04x}", u32::from(c))?,
            c => write!(f, "{c}")?,
        }
    }
    write!(f, "\"")
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn error(&self, wanted: &str) -> String {
        let here: String = self.rest.chars().take(20).collect();
        format!("JSON: wanted {wanted} at {here:?}")
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\n', '\r', '\t']);
    }

    /// Whether `mark` comes next; if so, it is passed.
    fn passes(&mut self, mark: &str) -> bool {
        self.skip_blanks();
        match self.rest.strip_prefix(mark) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn pass(&mut self, mark: &str) -> Result<(), String> {
        if self.passes(mark) {
            Ok(())
        } else {
            Err(self.error(mark))
        }
    }

    fn value(&mut self) -> Result<Json, String> {
        if self.passes("{") {
            let mut all = BTreeMap::new();
            if self.passes("}") {
                return Ok(Json::Object(all));
            }
            loop {
                self.pass("\"")?;
                let name = self.text()?;
                self.pass(":")?;
                all.insert(name, self.value()?);
                if self.passes("}") {
                    return Ok(Json::Object(all));
                }
                self.pass(",")?;
            }
        }
        if self.passes("[") {
            let mut all = Vec::new();
            if self.passes("]") {
                return Ok(Json::List(all));
            }
            loop {
                all.push(self.value()?);
                if self.passes("]") {
                    return Ok(Json::List(all));
                }
                self.pass(",")?;
            }
        }
        if self.passes("\"") {
            return Ok(Json::Text(self.text()?));
        }
        for (word, value) in [
            ("null", Json::Null),
            ("true", Json::Bool(true)),
            ("false", Json::Bool(false)),
        ] {
            if self.passes(word) {
                return Ok(value);
            }
        }
        self.number()
    }

    fn number(&mut self) -> Result<Json, String> {
        let length = self
            .rest
            .find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E'))
            .unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(length);
        let number = digits.parse().map_err(|_| self.error("a value"))?;
        self.rest = rest;
        Ok(Json::Number(number))
    }

    /// What follows an opening quote, up to and with the closing one.
    fn text(&mut self) -> Result<String, String> {
        let mut text = String::new();
        let mut chars = self.rest.chars();
        loop {
            match chars.next() {
                Some('"') => {
                    self.rest = chars.as_str();
                    return Ok(text);
                }
                Some('\\') => match chars.next() {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some('r') => text.push('\r'),
                    Some('b') => text.push('\u{8}'),
                    Some('f') => text.push('\u{c}'),
                    Some('u') => {
                        let code: String = chars.by_ref().take(4).collect();
                        let code = u32::from_str_radix(&code, 16).map_err(|_| self.error("four hex digits"))?;
                        // Halves of a pair stand for a character that no name of a measurement has.
                        text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                    }
                    Some(c @ ('"' | '\\' | '/')) => text.push(c),
                    _ => return Err(self.error("an escape")),
                },
                Some(c) => text.push(c),
                None => return Err(self.error("a closing quote")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Json;

    #[test]
    fn what_is_written_is_read() {
        let text = r#"{"a":[1,-2.5,1e-7],"b":null,"c":{"d":"x \"y\" \\ z","e":true},"f":[],"g":{}}"#;
        let value = Json::read(text).unwrap();
        assert_eq!(value.get("a").numbers(), [1.0, -2.5, 1e-7]);
        assert_eq!(value.get("c").get("d").text(), Some("x \"y\" \\ z"));
        assert_eq!(value.get("nothing").get("at all"), &Json::Null);
        assert_eq!(Json::read(&value.to_string()).unwrap(), value);
        let pretty = "{\n \"a\": [\n  1 ,\n 2\n ]\n}\n";
        assert_eq!(Json::read(pretty).unwrap().get("a").numbers(), [1.0, 2.0]);
        assert_eq!(Json::read(r#""\u00e9\n""#).unwrap().text(), Some("é\n"));
    }

    #[test]
    fn what_is_broken_is_refused() {
        for broken in ["", "{", "[1,]", "{\"a\" 1}", "\"abc", "nul", "1 2", "--1", "\"\\x\""] {
            assert!(Json::read(broken).is_err(), "{broken}");
        }
        assert_eq!(Json::Number(f64::NAN).to_string(), "null");
    }
}
