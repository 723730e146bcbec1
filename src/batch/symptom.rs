//! What a person notices when a loop counts wrongly.

use serde::{Deserialize, Serialize};

/// The first thing that looks wrong. Rows of the tables of conventions and of loop faults name one each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Symptom {
    /// Nothing: this way is right.
    Nothing,
    /// The gradient, and so the update of SGD, is too small by a factor.
    GradientTooSmall,
    /// The gradient is too large by a factor.
    GradientTooLarge,
    /// The same examples give another gradient when they are split otherwise.
    DependsOnSplit,
    /// A larger A changes nothing but the time.
    AccumulationWithoutEffect,
    /// Bytes grow with the microbatches of a group.
    MemoryGrows,
    /// The learning rate is not the one that was planned for this update.
    ScheduleShifted,
    /// Replicas end an update with different parameters.
    ReplicasPart,
    /// A loss or gradient is not a number.
    NotANumber,
    /// The logged loss is not the one that was trained.
    LogDiffers,
    /// The clip cuts something other than the gradient of the group.
    ClippedWrongly,
    /// More all-reduces than one an update.
    MoreCommunication,
    /// The framework stops with an error.
    Refused,
    /// Some examples never reach an update.
    ExamplesLost,
    /// Gradients of an earlier group come back in a later one.
    GradientsLinger,
    /// Parameters move inside a group.
    ParametersMove,
}

impl Symptom {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::Nothing,
        Self::GradientTooSmall,
        Self::GradientTooLarge,
        Self::DependsOnSplit,
        Self::AccumulationWithoutEffect,
        Self::MemoryGrows,
        Self::ScheduleShifted,
        Self::ReplicasPart,
        Self::NotANumber,
        Self::LogDiffers,
        Self::ClippedWrongly,
        Self::MoreCommunication,
        Self::Refused,
        Self::ExamplesLost,
        Self::GradientsLinger,
        Self::ParametersMove,
    ];
}
