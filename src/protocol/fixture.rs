//! A run that is given instead of made.

use serde::{Deserialize, Serialize};

use crate::{batch::Example, setup::Setup};

/// Floats as their bytes: a page writes hundreds of thousands of them in one task, and one by one it would stand still meanwhile.
mod bytes {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(floats: &[f32], to: S) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = floats.iter().flat_map(|float| float.to_le_bytes()).collect();
        to.serialize_bytes(&bytes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f32>, D::Error> {
        let bytes = <&[u8]>::deserialize(from)?;
        let (floats, rest) = bytes.as_chunks::<4>();
        if rest.is_empty() {
            Ok(floats.iter().copied().map(f32::from_le_bytes).collect())
        } else {
            Err(D::Error::custom("floats of four bytes each"))
        }
    }
}

/// A run whose examples and first parameters are given; its setup says the rest. What two programs are to compute alike is put to them so.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fixture {
    /// The split, the network, the optimizer and the lanes. What it says of data, of lengths and of a start is not looked at.
    pub setup: Setup,
    /// Tokens of the vocabulary, padding included.
    pub vocabulary: u32,
    /// The first parameters, flat, in the order that the network documents.
    #[serde(with = "bytes")]
    pub start: Vec<f32>,
    /// Example i has ID i.
    pub examples: Vec<Example>,
}
