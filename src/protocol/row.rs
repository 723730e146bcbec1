//! What a run reports, microbatch by microbatch and group by group.

use serde::{Deserialize, Serialize};

use super::MemoryRow;
use crate::batch::{Counters, ExampleId, GroupLoss, GroupPlan, scaler::ScalerError};

/// What is happening to one microbatch of the group being worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub enum CellState {
    Waiting,
    Forward,
    Backward,
    Done,
    Reduced,
}

/// One microbatch on one replica, while it is watched (stepping or slow motion).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MicrobatchRow {
    /// Its group.
    pub group: u64,
    /// Its place in [`GroupPlan::microbatches`].
    pub cell: u32,
    /// What is happening to it.
    pub state: CellState,
    /// One entry a lane, in lane order, once the backward is done.
    pub lanes: Vec<Watched>,
}

/// What one lane shows of one microbatch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Watched {
    /// S: sum of the loss over its supervised tokens. `None` in a lane that does the whole group in one pass, until its last microbatch.
    pub loss_sum: Option<f64>,
    /// FNV-1a over the bits of the parameters this microbatch was computed with: equal inside a group, or the group is broken.
    pub checksum: u64,
    /// Counts so far.
    pub counters: Counters,
}

/// How a group ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// Parameters changed.
    Applied,
    /// No supervised token in the whole group: nothing was computed, nothing changed.
    NoSupervisedToken,
    /// A gradient was not finite: the whole update was skipped.
    NonFiniteGradient,
    /// The loop asked its loss scaler for what torch refuses with an error: nothing changed.
    Refused(ScalerError),
    /// A partial group that the lane's loop drops: nothing was computed.
    Dropped,
    /// A partial group whose gradients the lane's loop leaves in `.grad` for the next update.
    Carried,
}

/// One ended group, in every lane: one attempt at an update, or more where its loop makes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupRow {
    /// Who was in it.
    pub plan: GroupPlan,
    /// Examples that this group's epoch leaves out, on the epoch's last group.
    pub dropped: Vec<ExampleId>,
    /// One entry a lane, in lane order.
    pub lanes: Vec<LaneRow>,
    /// Milliseconds since the run was told to go for the first time, pauses excluded.
    pub elapsed_ms: f64,
    /// What it took, where it is measured.
    pub memory: Option<MemoryRow>,
}

/// The loss scale of one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScaleRow {
    /// What its losses were multiplied by.
    pub used: f64,
    /// The scale of the next attempt.
    pub next: f64,
    /// Finite attempts in a row since the scale last moved.
    pub growth_tracker: u32,
}

/// Running statistics of BatchNorm on replica 0 after a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchNormRow {
    /// Microbatches that moved them.
    pub batches: u64,
    /// By feature.
    pub running_mean: Vec<f64>,
    /// Unbiased, by feature.
    pub running_var: Vec<f64>,
}

/// An update that a lane's loop makes inside a group, where no loop should.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptRow {
    /// The accumulation index, from 0, whose backward it followed.
    pub after_index: u32,
    /// What came of it. Where moves are summed, an applied one is made at the end of the group.
    pub outcome: Outcome,
    /// As [`LaneRow::gradient_norm`].
    pub gradient_norm: f64,
    /// Every norm that the loop's clip saw on replica 0 since the attempt before.
    pub clip_norms: Vec<f64>,
    /// The loss scale before and after it; `None` without one.
    pub scale: Option<ScaleRow>,
    /// The learning rate used.
    pub rate: f64,
    /// Counts after it.
    pub counters: Counters,
}

/// What one lane reports of one group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaneRow {
    /// Attempts before the group's last one, in order; none in a loop that steps once a group.
    pub inner: Vec<AttemptRow>,
    /// How its last attempt ended here; [`Self::ended`] is the group.
    pub outcome: Outcome,
    /// S of each microbatch, in the order of [`GroupPlan::microbatches`]; one entry for the full batch in one pass, none in a lane that
    /// dropped the group.
    pub loss_sums: Vec<f64>,
    /// The group's loss counted both ways. For the full batch in one pass, both are over its one microbatch.
    pub loss: GroupLoss,
    /// What this lane's loop writes into its log as the group's loss. NaN where a mean over no token enters it.
    pub logged_loss: f64,
    /// Norm of the reduced gradient, unscaled and not yet clipped; of replica 0's where replicas hold different ones.
    pub gradient_norm: f64,
    /// Every norm that the loop's clip saw on replica 0 in the whole group, in order; empty where nothing is clipped.
    pub clip_norms: Vec<f64>,
    /// The loss scale of the last attempt; `None` without one.
    pub scale: Option<ScaleRow>,
    /// Running statistics; `None` without BatchNorm.
    pub batch_norm: Option<BatchNormRow>,
    /// The learning rate used.
    pub rate: f64,
    /// Counts after this group.
    pub counters: Counters,
    /// FNV-1a over the bits of replica 0's parameters before the group's first forward and after its last backward (equal, or
    /// something moved inside the group), then after the update. `None` where the parameters of all lanes together are too many to
    /// read back after every update.
    pub checksums: Option<[u64; 3]>,
    /// How far this lane is from the first lane; `None` for the first lane itself.
    pub apart: Option<Apart>,
    /// Whether this lane's replicas agree.
    pub replicas: ReplicaSpread,
}

impl LaneRow {
    /// How the group ended: applied, if any of its attempts was.
    pub fn ended(&self) -> Outcome {
        if self.changed_nothing().count() == self.attempts() {
            self.outcome
        } else {
            Outcome::Applied
        }
    }

    /// Attempts of the group, the last one included.
    pub fn attempts(&self) -> usize {
        self.inner.len() + 1
    }

    /// How the attempts ended that changed nothing, in order.
    pub fn changed_nothing(&self) -> impl Iterator<Item = Outcome> + '_ {
        let inner = self.inner.iter().map(|attempt| attempt.outcome);
        inner
            .chain([self.outcome])
            .filter(|&outcome| outcome != Outcome::Applied)
    }

    /// The loss scale of each attempt, with the attempts since the start by then.
    pub fn scales(&self) -> impl Iterator<Item = (u64, ScaleRow)> + '_ {
        let inner = self.inner.iter().map(|attempt| (&attempt.counters, attempt.scale));
        inner
            .chain([(&self.counters, self.scale)])
            .filter_map(|(counters, scale)| scale.map(|scale| (counters.update_attempts, scale)))
    }

    /// What the clip saw for the last attempt alone.
    pub fn last_clip_norms(&self) -> &[f64] {
        let before = self.inner.iter().map(|attempt| attempt.clip_norms.len()).sum();
        self.clip_norms.get(before..).unwrap_or_default()
    }
}

/// How far a lane is from the first lane.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Apart {
    /// Cosine between the two reduced gradients. A statement about one point only while parameters are equal: the first update.
    pub gradient_cosine: f64,
    /// `||g - g_first|| / ||g_first||`.
    pub gradient_relative_l2: f64,
    /// `||p - p_first|| / ||p_first||` after the update.
    pub parameter_distance: f64,
}

/// Whether a lane's replicas hold the same parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum ReplicaSpread {
    /// They share the same tensors, so they are equal bit for bit.
    InStep,
    /// They parted: the largest difference of one parameter between two replicas.
    Parted {
        /// Largest absolute difference.
        largest: f64,
    },
}
