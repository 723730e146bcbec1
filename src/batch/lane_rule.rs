//! What a lane does: one convention, and the faults of its loop.

use serde::{Deserialize, Serialize};

use super::{Convention, ConventionId, fault::Faults, recipe::Recipe};

/// One lane, by stable names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LaneRule {
    /// How losses are weighed.
    pub convention: ConventionId,
    /// What is wrong with its loop.
    pub faults: Faults,
}

impl LaneRule {
    /// The row of its convention.
    pub fn convention(self) -> &'static Convention {
        Convention::of(self.convention)
    }

    /// Its loop.
    pub fn recipe(self) -> Recipe {
        Recipe::with(self.faults)
    }

    /// The same loop under another convention, without the faults that would show nothing there.
    #[must_use]
    pub fn counting(self, convention: ConventionId) -> Self {
        Self {
            convention,
            faults: self.faults.under(Convention::of(convention)),
        }
    }

    /// Whether this lane computes the update that was meant.
    pub fn correct(self) -> bool {
        self.faults.is_empty() && self.convention().correct
    }
}

impl From<ConventionId> for LaneRule {
    fn from(convention: ConventionId) -> Self {
        Self {
            convention,
            faults: Faults::NONE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::FaultId;

    #[test]
    fn another_convention_keeps_what_still_shows() {
        let faults = vec![FaultId::ZeroGradForgotten, FaultId::HandMaskedMean]
            .try_into()
            .unwrap();
        let rule = LaneRule {
            convention: ConventionId::MeanOfMeans,
            faults,
        };
        let other = rule.counting(ConventionId::Sum);
        assert_eq!(other.convention, ConventionId::Sum);
        assert_eq!(Vec::from(other.faults), [FaultId::ZeroGradForgotten]);
        assert_eq!(rule.counting(ConventionId::FullBatch), ConventionId::FullBatch.into());
        assert_eq!(rule.counting(ConventionId::NeverDivided).faults, faults);
    }
}
