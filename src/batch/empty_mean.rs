//! Four ways to write the mean loss of a microbatch, and what each gives where it has no supervised token.

use serde::{Deserialize, Serialize};

/// How a mean is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmptyMean {
    /// `cross_entropy(reduction="mean", ignore_index=-100)`: NaN loss, zero gradient.
    #[default]
    Reduction,
    /// `cross_entropy(reduction="sum") / count`: likewise, since ignored positions never enter the sum.
    SumOverCount,
    /// `(loss * mask).sum() / mask.sum()` with labels made valid: every position enters, times 0 / 0. The gradient is NaN.
    HandMasked,
    /// `sum / max(count, 1)`: zero loss, zero gradient.
    SumOverAtLeastOne,
}

impl EmptyMean {
    /// Whether ignored positions take part in the graph, with a weight of their own.
    pub fn enters_ignored(self) -> bool {
        self == Self::HandMasked
    }

    /// What a position's loss is multiplied by, in a microbatch of `count` supervised tokens.
    pub fn weight(self, supervised: bool, count: u64) -> f64 {
        let mask = if supervised { 1.0 } else { 0.0 };
        mask / self.divisor(count)
    }

    /// The mean of a loss sum.
    pub fn loss(self, sum: f64, count: u64) -> f64 {
        sum / self.divisor(count)
    }

    fn divisor(self, count: u64) -> f64 {
        match self {
            Self::SumOverAtLeastOne => count.max(1) as f64,
            Self::Reduction | Self::SumOverCount | Self::HandMasked => count as f64,
        }
    }
}
