//! From a Setup to examples: generated tasks, a person's own text, lengths, and the vocabulary. Pure, seeded by the Setup.

mod corpus;
mod error;

pub use corpus::{Corpus, Vocabulary, build};
pub use error::DataError;
