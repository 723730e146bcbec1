//! Which backwards exchange gradients between replicas. In DistributedDataParallel the context at FORWARD time decides.

use serde::{Deserialize, Serialize};

/// Where a loop stands inside `no_sync()`. "Outside" and "inside" are those of forward and backward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncMode {
    /// Forward and backward of all but the last microbatch inside: one exchange, the right gradient.
    #[default]
    LastMicrobatch,
    /// Never inside: A exchanges, the right gradient.
    EveryMicrobatch,
    /// All forwards outside, all backwards but the last inside: A exchanges all the same.
    ForwardOutside,
    /// The last one inside, too: no exchange, the replicas part.
    Never,
    /// All forwards inside, all backwards outside: no exchange.
    ForwardInside,
    /// The last forward inside, its backward outside: no exchange.
    LastForwardInside,
    /// The last forward outside, its backward inside: one exchange.
    LastForwardOutside,
    /// A forwards, one backward of the summed loss: one exchange.
    SingleBackward,
    /// Off by one: only the first microbatch outside. One exchange, too early: the replicas part.
    FirstMicrobatch,
}

impl SyncMode {
    /// Whether the forward of microbatch `index` (from 0) of `accumulation` runs outside `no_sync()`, so that its backward
    /// replaces each replica's `.grad` by the mean of all.
    pub fn reduces(self, index: u32, accumulation: u32) -> bool {
        let last = index + 1 == accumulation;
        match self {
            Self::LastMicrobatch | Self::LastForwardOutside | Self::SingleBackward => last,
            Self::EveryMicrobatch | Self::ForwardOutside => true,
            Self::Never | Self::ForwardInside | Self::LastForwardInside => false,
            Self::FirstMicrobatch => index == 0,
        }
    }

    /// Exchanges in one group.
    pub fn exchanges(self, accumulation: u32) -> u32 {
        (0..accumulation)
            .map(|index| u32::from(self.reduces(index, accumulation)))
            .sum()
    }
}
