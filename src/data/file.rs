//! From the bytes of a person's file to its text.

use std::borrow::Cow;

use super::DataError;
use crate::setup::limits;

/// The text of a file: at most [`limits::MAX_FILE_BYTES`] of UTF-8, without byte order mark, line ends as `\n`.
pub fn read_file(bytes: &[u8]) -> Result<String, DataError> {
    check_size(bytes.len() as u64)?;
    let text = std::str::from_utf8(bytes).map_err(|error| DataError::NotUtf8 {
        at: error.valid_up_to() as u64,
    })?;
    let text = plain(text);
    if text.trim().is_empty() {
        Err(DataError::Empty)
    } else {
        Ok(text.into_owned())
    }
}

/// Refuses a file by its size alone, before it is read.
pub fn check_size(bytes: u64) -> Result<(), DataError> {
    let max = limits::MAX_FILE_BYTES;
    match bytes {
        0 => Err(DataError::Empty),
        _ if bytes > max => Err(DataError::TooLarge { bytes, max }),
        _ => Ok(()),
    }
}

/// Without byte order mark, line ends as `\n`.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    if text.contains('\r') {
        text.replace("\r\n", "\n").replace('\r', "\n").into()
    } else {
        text.into()
    }
}
