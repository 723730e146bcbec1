//! A check before a campaign: a few updates of a small controlled set, against what must come out.

use serde::{Deserialize, Serialize};

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckKind {
    /// Every lane works on the same examples, and on all of them: as many as the group has.
    SameExamples,
    /// What the correct lanes divide by is the number of supervised tokens, known before the first forward.
    Denominator,
    /// Elements of the gradients that are not finite: 0.
    FiniteGradients,
    /// Microbatches between two updates: A x D.
    GroupBoundary,
    /// Parameters that move inside the group: 0 bytes differ.
    ParametersStandStill,
    /// Applied updates: one a lane.
    AppliedUpdates,
    /// Examples counted: those of the group.
    Examples,
    /// Supervised tokens counted: those of the group.
    SupervisedTokens,
    /// Relative L2 of a lane's gradient against the full batch in one pass: within the setup's tolerance.
    FullBatchAgreement,
    /// Relative L2 of a lane's gradient against the f64 oracle.
    OracleAgreement,
    /// Largest difference of one parameter between replicas: 0.
    ReplicasInStep,
    /// All-reduces of the update: one.
    AllReduces,
    /// Largest relative L2 of a lane's later gradients, where gradients of the first group must be gone, against the f64 oracle.
    NextGroup,
    /// Applied updates of a partial group: one.
    PartialGroup,
    /// The learning rate of the update that is furthest off, against the schedule at that update.
    LearningRate,
    /// What the lane's loop logs as the group's loss, against what it trained on.
    LoggedLoss,
}

/// One line of the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PreflightCheck {
    /// What.
    pub kind: CheckKind,
    /// Which lane, from 0; `None` where all are concerned.
    pub lane: Option<u32>,
    /// What came out.
    pub measured: f64,
    /// What must come out.
    pub expected: f64,
    /// How far apart they may be.
    pub tolerance: f64,
    /// Whether they are not.
    pub passed: bool,
}

/// The whole list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PreflightReport {
    /// In the order of the recipe, lane by lane.
    pub checks: Vec<PreflightCheck>,
}

impl PreflightReport {
    /// Whether every check passed; an empty list has not.
    pub fn passed(&self) -> bool {
        !self.checks.is_empty() && self.checks.iter().all(|check| check.passed)
    }
}
