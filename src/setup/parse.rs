//! From a draft to a Setup, or to every problem in it.

use super::{Draft, FieldError, Setup};

/// Judges all fields; gives every problem at once, in the table's order.
pub fn parse(draft: &Draft) -> Result<Setup, Vec<FieldError>> {
    let _ = draft;
    unimplemented!("being written")
}
