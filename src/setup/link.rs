//! A draft as the part of a link after `#`.

use std::collections::BTreeSet;

use super::{
    Draft, Key,
    codec::{VERSION, VERSION_KEY},
    limits,
};

/// Why a link cannot be read. A known key with a bad value is no such reason: the draft carries it, to be shown at its field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant's message says what it is")]
pub enum LinkError {
    #[error("the link is not one of this lab: it does not start with v={VERSION}")]
    Foreign,
    #[error("the link speaks version {given:?}, this lab {VERSION}; open it with the lab that made it")]
    WrongVersion { given: String },
    #[error("the link is cut off or garbled at character {at}; copy it again, whole")]
    BadEscape { at: usize },
    #[error("the link is not UTF-8 in the value of {key:?}; copy it again, whole")]
    NotUtf8 { key: String },
    #[error("the link has the unknown setting {key:?}")]
    UnknownKey { key: String },
    #[error("the link has the setting {key:?} twice")]
    Repeated { key: String },
    #[error("the link has {bytes} bytes, the most is {max}")]
    TooLong { bytes: usize, max: usize },
}

/// The part after `#`: the version and the fields that differ from their defaults.
///
/// ```
/// use microbatch_lab::setup::{Draft, Key, link};
/// assert_eq!(link::to_link(&Draft::default().with(Key::Accumulation, "8")), "v=1&A=8");
/// ```
pub fn to_link(draft: &Draft) -> String {
    let mut out = form_urlencoded::Serializer::new(String::new());
    out.append_pair(VERSION_KEY, VERSION);
    out.extend_pairs(draft.changed().map(|(key, text)| (key.name(), text)));
    out.finish()
}

/// Reads what [`to_link`] wrote, with or without the `#`. An empty link is the default draft.
pub fn from_link(link: &str) -> Result<Draft, LinkError> {
    let link = link.strip_prefix('#').unwrap_or(link);
    if link.is_empty() {
        return Ok(Draft::default());
    }
    if link.len() > limits::MAX_LINK_BYTES {
        return Err(LinkError::TooLong {
            bytes: link.len(),
            max: limits::MAX_LINK_BYTES,
        });
    }
    check_escapes(link)?;
    check_utf8(link)?;

    let mut pairs = form_urlencoded::parse(link.as_bytes());
    match pairs.next() {
        Some((key, version)) if key == VERSION_KEY && version == VERSION => {}
        Some((key, version)) if key == VERSION_KEY => {
            return Err(LinkError::WrongVersion {
                given: version.into_owned(),
            });
        }
        _ => return Err(LinkError::Foreign),
    }
    let mut draft = Draft::default();
    let mut seen = BTreeSet::new();
    for (name, text) in pairs {
        let key = Key::named(&name).ok_or_else(|| LinkError::UnknownKey { key: name.to_string() })?;
        if !seen.insert(key) {
            return Err(LinkError::Repeated { key: name.into_owned() });
        }
        draft.set(key, text);
    }
    Ok(draft)
}

/// Refuses a `%` without two hexadecimal digits, which the decoder would keep as it stands.
fn check_escapes(link: &str) -> Result<(), LinkError> {
    let bytes = link.as_bytes();
    let broken = bytes.iter().enumerate().find(|&(at, &byte)| {
        byte == b'%'
            && !bytes
                .get(at + 1..at + 3)
                .is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit))
    });
    broken.map_or(Ok(()), |(at, _)| Err(LinkError::BadEscape { at: at + 1 }))
}

/// Refuses bytes that are no UTF-8, for which the reader of pairs would put U+FFFD.
fn check_utf8(link: &str) -> Result<(), LinkError> {
    let broken = link
        .split('&')
        .find(|pair| percent_encoding::percent_decode_str(pair).decode_utf8().is_err());
    broken.map_or(Ok(()), |pair| {
        let key = pair.split('=').next().unwrap_or_default().to_owned();
        Err(LinkError::NotUtf8 { key })
    })
}
