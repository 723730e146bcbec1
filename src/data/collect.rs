//! Sequences as they come, held against the limits before they fill a tab's memory.

use super::{DataError, written::Written};
use crate::setup::limits;

/// All sequences so far.
#[derive(Debug)]
pub(super) struct Collected {
    /// The sequences.
    pub(super) sequences: Vec<Written>,
    /// Positions that a length rule cut off.
    pub(super) cut_positions: u64,
    longest: u32,
    tokens: u64,
}

impl Collected {
    /// Nothing yet, for a model that takes `longest` positions.
    pub(super) fn new(longest: u32) -> Self {
        Self {
            sequences: Vec::new(),
            cut_positions: 0,
            longest,
            tokens: 0,
        }
    }

    /// Adds one sequence.
    pub(super) fn push(&mut self, sequence: Written) -> Result<(), DataError> {
        let (examples, max) = (self.sequences.len() as u64 + 1, u64::from(limits::MAX_EXAMPLES));
        if examples > max {
            return Err(DataError::TooManyExamples { examples, max });
        }
        let length = sequence.length() as u64;
        if length > u64::from(self.longest) {
            let example = u32::try_from(self.sequences.len()).unwrap_or(u32::MAX);
            return Err(DataError::TooLong {
                example,
                length,
                max: self.longest,
            });
        }
        self.tokens += length;
        if self.tokens > limits::MAX_TOKENS {
            return Err(DataError::TooManyTokens {
                tokens: self.tokens,
                max: limits::MAX_TOKENS,
            });
        }
        self.sequences.push(sequence);
        Ok(())
    }
}
