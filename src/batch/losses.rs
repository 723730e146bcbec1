//! The loss of a group as two numbers: per supervised token, and as a mean of microbatch means.

use serde::{Deserialize, Serialize};

/// One group's loss, counted both ways, with what was divided by what.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupLoss {
    /// Sum of the loss over all supervised tokens of the group.
    pub loss_sum: f64,
    /// N: those tokens.
    pub supervised: u64,
    /// Sum of the microbatch means, over the microbatches that have any supervised token.
    pub sum_of_means: f64,
    /// Those microbatches.
    pub means: u64,
}

impl GroupLoss {
    /// From each microbatch's loss sum and supervised tokens. Microbatches without a supervised token add nothing to either.
    ///
    /// ```
    /// use microbatch_lab::batch::GroupLoss;
    /// let loss = GroupLoss::from_sums([(512.0 * 2.0, 512), (1536.0 * 4.0, 1536)]);
    /// assert_eq!(loss.token_weighted(), Some(3.5));
    /// assert_eq!(loss.mean_of_means(), Some(3.0));
    /// ```
    pub fn from_sums(microbatches: impl IntoIterator<Item = (f64, u64)>) -> Self {
        let empty = Self {
            loss_sum: 0.0,
            supervised: 0,
            sum_of_means: 0.0,
            means: 0,
        };
        microbatches
            .into_iter()
            .filter(|&(_, n)| n > 0)
            .fold(empty, |acc, (sum, n)| Self {
                loss_sum: acc.loss_sum + sum,
                supervised: acc.supervised + n,
                sum_of_means: acc.sum_of_means + sum / n as f64,
                means: acc.means + 1,
            })
    }

    /// Sum of losses / supervised tokens; `None` where nothing was scored.
    pub fn token_weighted(&self) -> Option<f64> {
        (self.supervised > 0).then(|| self.loss_sum / self.supervised as f64)
    }

    /// Mean of the microbatch means; `None` where nothing was scored.
    pub fn mean_of_means(&self) -> Option<f64> {
        (self.means > 0).then(|| self.sum_of_means / self.means as f64)
    }
}
