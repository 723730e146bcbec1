//! The largest microbatch that really fits into a number of bytes, found by trying.

use serde::{Deserialize, Serialize};

/// One microbatch size that was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FitTry {
    /// m.
    pub microbatch: u32,
    /// The most in use over its first group and update.
    pub peak: u64,
    /// Whether that is within the limit.
    pub fits: bool,
}

/// The split that keeps the target batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FittingSplit {
    /// Largest m that fits.
    pub microbatch: u32,
    /// A that keeps m x A x D, or comes nearest from below.
    pub accumulation: u32,
    /// D.
    pub replicas: u32,
    /// Examples of the target batch that this split leaves out of each update; 0 where it is kept.
    pub remainder: u64,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FitReport {
    /// Bytes allowed.
    pub limit: u64,
    /// m x A x D as set.
    pub target: u64,
    /// In the order tried.
    pub tries: Vec<FitTry>,
    /// `None` where not even m = 1 fits.
    pub split: Option<FittingSplit>,
}
