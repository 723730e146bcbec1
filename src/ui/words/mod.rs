//! Words for data: each named value, problem and fault in the reader's language.

pub mod fault;
pub mod fields;
pub mod loop_faults;
pub mod names;
pub mod problem;
pub mod symptoms;
