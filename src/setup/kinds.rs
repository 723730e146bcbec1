//! The choices of a form: which variant of a Setup's part is meant, without its numbers.

use super::{
    named::{Named, named},
    types::{OwnFormat, Task},
};
use crate::batch::Unit;

/// Which data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataKind {
    /// Generated.
    Task(Task),
    /// The person's own.
    Own(OwnFormat),
}

impl Named for DataKind {
    const NAMES: &'static [(Self, &'static str)] = &[
        (Self::Task(Task::Copy), "copy"),
        (Self::Task(Task::Reverse), "reverse"),
        (Self::Task(Task::Sort), "sort"),
        (Self::Task(Task::Addition), "addition"),
        (Self::Task(Task::TwoSources), "two_sources"),
        (Self::Own(OwnFormat::Text), "text"),
        (Self::Own(OwnFormat::Jsonl), "jsonl"),
    ];
}

/// Which rule for lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the variant of Lengths of the same name")]
pub enum LengthsKind {
    AsInData,
    List,
    Uniform,
    LogNormal,
    TwoHumped,
}

named!(LengthsKind: AsInData "data", List "list", Uniform "uniform", LogNormal "log_normal", TwoHumped "two_humped");

/// Which network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the variant of Model of the same name")]
pub enum ModelKind {
    TokenMlp,
    Transformer,
}

named!(ModelKind: TokenMlp "token_mlp", Transformer "transformer");

/// Which optimizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the variant of Optimizer of the same name")]
pub enum OptimizerKind {
    Sgd,
    AdamW,
}

named!(OptimizerKind: Sgd "sgd", AdamW "adamw");

/// Yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum YesNo {
    Yes,
    No,
}

named!(YesNo: Yes "yes", No "no");

/// The units in which a budget may be given: those that only grow by work that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetUnit(pub Unit);

impl Named for BudgetUnit {
    const NAMES: &'static [(Self, &'static str)] = &[
        (Self(Unit::AppliedUpdates), "applied_updates"),
        (Self(Unit::Examples), "examples"),
        (Self(Unit::SupervisedTokens), "supervised_tokens"),
    ];
}

/// The units in which a schedule may be stepped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduleUnit(pub Unit);

impl Named for ScheduleUnit {
    const NAMES: &'static [(Self, &'static str)] = &[
        (Self(Unit::AppliedUpdates), "applied_updates"),
        (Self(Unit::UpdateAttempts), "update_attempts"),
        (Self(Unit::Microbatches), "microbatches"),
        (Self(Unit::Examples), "examples"),
        (Self(Unit::SupervisedTokens), "supervised_tokens"),
    ];
}

/// Whether there is a loss scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum LossScaleKind {
    Off,
    Dynamic,
}

named!(LossScaleKind: Off "off", Dynamic "dynamic");
