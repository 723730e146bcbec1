//! What ends the program early, and with which exit code.

use std::path::PathBuf;

use microbatch_lab::{
    data::DataError,
    protocol::Fault,
    setup::{FieldError, file::FileError},
};

use crate::bytes;

/// Why it ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}\nTry 'lab --help'.")]
    Usage(String),
    #[error("{}: {error}", path.display())]
    Read { path: PathBuf, error: std::io::Error },
    #[error("{}: {error}", path.display())]
    Setup { path: PathBuf, error: FileError },
    #[error("{}:{}", path.display(), list(problems))]
    Fields { path: PathBuf, problems: Vec<FieldError> },
    #[error("{}: {error}", path.display())]
    Data { path: PathBuf, error: DataError },
    #[error("{}: {error}", path.display())]
    Write { path: PathBuf, error: std::io::Error },
    #[error("cannot write to standard output: {0}")]
    Output(#[from] std::io::Error),
    #[error("{failed} of {all} checks failed")]
    ChecksFailed { failed: usize, all: usize },
    #[error("not even m = 1 fits into {}", bytes::text(*limit))]
    NothingFits { limit: u64 },
    #[error("{0}")]
    Run(#[from] Fault),
}

impl Failure {
    /// 2: what was asked cannot be done as asked; 1: it went wrong on the way.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Read { .. } | Self::Setup { .. } | Self::Fields { .. } | Self::Data { .. } => 2,
            Self::Write { .. }
            | Self::Output(_)
            | Self::ChecksFailed { .. }
            | Self::NothingFits { .. }
            | Self::Run(_) => 1,
        }
    }
}

fn list(problems: &[FieldError]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    format!("\n  {}", lines.join("\n  "))
}
