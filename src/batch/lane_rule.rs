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
