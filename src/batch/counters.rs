//! What was done so far. "Step" alone is ambiguous, so every count carries its unit in its name.

use serde::{Deserialize, Serialize};

/// The unit of a count, a budget or a chart's axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Forward passes of one microbatch on one replica.
    Microbatches,
    /// Backward passes.
    Backwards,
    /// Attempts at an update, applied or skipped: one a group, unless the loop steps inside it.
    UpdateAttempts,
    /// Attempts that changed the parameters.
    AppliedUpdates,
    /// Examples processed, repeats counted each time.
    Examples,
    /// Different example IDs seen.
    UniqueExamples,
    /// Positions whose loss was scored.
    SupervisedTokens,
    /// Positions that only fill a row.
    PaddedTokens,
    /// Exchanges of gradients between replicas.
    AllReduces,
    /// Bytes of gradient that each replica put into them.
    AllReducedBytes,
}

impl Unit {
    /// All of them, in the order that people read them.
    pub const ALL: [Self; 10] = [
        Self::Microbatches,
        Self::Backwards,
        Self::UpdateAttempts,
        Self::AppliedUpdates,
        Self::Examples,
        Self::UniqueExamples,
        Self::SupervisedTokens,
        Self::PaddedTokens,
        Self::AllReduces,
        Self::AllReducedBytes,
    ];
}

/// Counts of one lane since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each is the count of the Unit of the same name")]
pub struct Counters {
    pub microbatches: u64,
    pub backwards: u64,
    pub update_attempts: u64,
    pub applied_updates: u64,
    pub examples: u64,
    pub unique_examples: u64,
    pub supervised_tokens: u64,
    pub padded_tokens: u64,
    pub all_reduces: u64,
    pub all_reduced_bytes: u64,
}

impl Counters {
    /// The count in `unit`.
    pub fn get(&self, unit: Unit) -> u64 {
        match unit {
            Unit::Microbatches => self.microbatches,
            Unit::Backwards => self.backwards,
            Unit::UpdateAttempts => self.update_attempts,
            Unit::AppliedUpdates => self.applied_updates,
            Unit::Examples => self.examples,
            Unit::UniqueExamples => self.unique_examples,
            Unit::SupervisedTokens => self.supervised_tokens,
            Unit::PaddedTokens => self.padded_tokens,
            Unit::AllReduces => self.all_reduces,
            Unit::AllReducedBytes => self.all_reduced_bytes,
        }
    }
}
