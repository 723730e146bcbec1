//! When a loop clears `.grad`.

use serde::{Deserialize, Serialize};

/// Where `zero_grad` stands. Only [`Self::AfterUpdate`] is right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ZeroGrad {
    /// Once a group, after the optimizer.
    #[default]
    AfterUpdate,
    /// Before each backward: only the last microbatch is left.
    BeforeEachBackward,
    /// After each backward: nothing is left.
    AfterEachBackward,
    /// Nowhere: each group drags all groups before it along.
    Forgotten,
}

impl ZeroGrad {
    /// Whether `.grad` is cleared before a microbatch's backward.
    pub fn before_backward(self) -> bool {
        self == Self::BeforeEachBackward
    }

    /// Whether `.grad` is cleared after a microbatch's backward.
    pub fn after_backward(self) -> bool {
        self == Self::AfterEachBackward
    }

    /// Whether `.grad` is cleared between two groups.
    pub fn after_update(self) -> bool {
        self != Self::Forgotten
    }
}
