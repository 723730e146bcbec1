//! From a Setup to examples: generated tasks, a person's own text, lengths, and the vocabulary. Pure, seeded by the Setup.

mod collect;
mod corpus;
mod error;
mod file;
mod jsonl;
mod lengths;
mod random;
mod summary;
mod tasks;
mod text;
mod written;

pub use corpus::{Corpus, Vocabulary, build};
pub use error::{DataError, asks_for_a_file};
pub use file::{check_size, read_file};
pub use lengths::parse_lengths_file;
pub use summary::{Bin, Run, Sample, Summary, summary};
pub use written::END;
