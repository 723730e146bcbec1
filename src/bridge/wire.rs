//! Commands and events as bytes.

use serde::{Serialize, de::DeserializeOwned};

use crate::protocol::{Command, Event, Fault};

/// One command as bytes.
pub fn encode_command(command: &Command) -> Result<Vec<u8>, Fault> {
    encode(command)
}

/// One command from bytes.
pub fn decode_command(bytes: &[u8]) -> Result<Command, Fault> {
    decode(bytes)
}

/// The events of one message as bytes.
pub fn encode_events(events: &[Event]) -> Result<Vec<u8>, Fault> {
    encode(events)
}

/// The events of one message from bytes.
pub fn decode_events(bytes: &[u8]) -> Result<Vec<Event>, Fault> {
    decode(bytes)
}

fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, Fault> {
    postcard::to_stdvec(value).map_err(unreadable)
}

/// Bytes left over mean that the other side speaks another version, so they are refused as well.
fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Fault> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(Fault::Unreachable {
            message: format!("{} bytes too many in a message", rest.len()),
        }),
        Err(error) => Err(unreadable(error)),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err asks for")]
fn unreadable(error: postcard::Error) -> Fault {
    Fault::Unreachable {
        message: error.to_string(),
    }
}
