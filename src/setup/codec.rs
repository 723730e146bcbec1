//! Written forms of a Setup.
use super::{Draft, Setup};
/// The draft that parses to `setup`.
pub fn write(setup: &Setup) -> Draft {
    let _ = setup;
    unimplemented!("being written")
}
