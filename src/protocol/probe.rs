//! All conventions at once, at the same parameters.

use serde::{Deserialize, Serialize};

use crate::batch::ConventionId;

/// What one convention would do with the next group.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeRow {
    /// Which.
    pub convention: ConventionId,
    /// Norm of its reduced gradient.
    pub gradient_norm: f64,
    /// Cosine with the full batch's.
    pub cosine: f64,
    /// `||g - g_full|| / ||g_full||`.
    pub relative_l2: f64,
    /// `||g|| / ||g_full||`.
    pub norm_ratio: f64,
    /// The loss that it back-propagates, summed over microbatches and averaged over replicas; NaN where a mean over no token enters.
    pub loss: f64,
    /// That, divided by the full batch's.
    pub loss_ratio: f64,
}

/// The table of all conventions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeReport {
    /// The group that was probed.
    pub group: u64,
    /// Updates that the first lane had applied: whose parameters these are.
    pub applied_updates: u64,
    /// N of the group.
    pub supervised_tokens: u64,
    /// Norm of the full batch's gradient.
    pub full_batch_norm: f64,
    /// One entry a convention, in the table's order.
    pub rows: Vec<ProbeRow>,
    /// Relative L2 between the token-weighted gradient summed in the order of work and summed in reverse: what floats alone do.
    pub noise_floor: f64,
    /// Backwards it took: one a microbatch, one of the full batch, and one more for those microbatches whose tokens do not all weigh the
    /// same where a convention weighs tokens; one for each of these where a microbatch is not the sum of its rows (BatchNorm, dropout).
    pub backwards: u64,
    /// Milliseconds it took.
    pub elapsed_ms: f64,
}
