//! All conventions at once, at the same parameters.

use serde::{Deserialize, Serialize};

use crate::batch::ConventionId;

/// Where the full batch's gradient comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FullBatch {
    /// The sum of the microbatches' gradients, which it is where rows do not see each other. Where they do (BatchNorm, masks of dropout
    /// that depend on the split) it is computed in one pass whatever was asked for.
    #[default]
    AsSum,
    /// One forward and backward over all examples of the group: as much arithmetic again as all microbatches.
    InOnePass,
}

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
    /// How the full batch was computed.
    pub full_batch: FullBatch,
    /// Norm of the full batch's gradient.
    pub full_batch_norm: f64,
    /// One entry a convention, in the table's order.
    pub rows: Vec<ProbeRow>,
    /// Relative L2 between the token-weighted gradient summed in the order of work and summed in reverse: what floats alone do.
    pub noise_floor: f64,
    /// Backwards it took: one a microbatch, and one of the full batch if that was computed in one pass. Where a convention weighs tokens, and
    /// those of some microbatches do not all weigh the same: none more where the network's list weighs rows in the same backward (the CPU
    /// device, without dropout and half precision), one for all these microbatches elsewhere, and one for each of them where a microbatch is
    /// not the sum of its rows (BatchNorm, dropout that depends on the split).
    pub backwards: u64,
    /// Milliseconds it took.
    pub elapsed_ms: f64,
}
