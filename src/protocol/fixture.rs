//! A run that is given instead of made.

use serde::{Deserialize, Serialize};

use crate::{batch::Example, setup::Setup};

/// A run whose examples and first parameters are given; its setup says the rest. What two programs are to compute alike is put to them so.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fixture {
    /// The split, the network, the optimizer and the lanes. What it says of data, of lengths and of a start is not looked at.
    pub setup: Setup,
    /// Tokens of the vocabulary, padding included.
    pub vocabulary: u32,
    /// The first parameters, flat, in the order that the network documents.
    pub start: Vec<f32>,
    /// Example i has ID i.
    pub examples: Vec<Example>,
}
