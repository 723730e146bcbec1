//! Examples with the vocabulary they are written in.

use serde::{Deserialize, Serialize};

use super::DataError;
use crate::{batch::Example, setup::Setup};

/// Characters by token ID; ID 0 is padding and has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vocabulary {
    /// `characters[i]` has token ID i + 1.
    pub characters: Vec<char>,
}

/// All examples of one epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Corpus {
    /// What tokens mean.
    pub vocabulary: Vocabulary,
    /// `examples[i]` has ID i.
    pub examples: Vec<Example>,
    /// How many examples have no supervised token.
    pub unsupervised: u32,
    /// Positions that a length rule cut off the end of the person's own examples.
    pub cut_positions: u64,
}

/// Makes the examples that `setup` asks for. `own_text` is the person's file, where it asks for one.
pub fn build(setup: &Setup, own_text: Option<&str>) -> Result<Corpus, DataError> {
    let _ = (setup, own_text);
    unimplemented!("being written")
}
