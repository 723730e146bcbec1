//! Generated tasks, one a file.

mod addition;
mod copy;
mod letters;
mod reverse;
mod sort;
mod two_sources;

use rand_pcg::Pcg64;

use super::{
    DataError,
    collect::Collected,
    lengths,
    random::{Purpose, stream},
    written::Written,
};
use crate::setup::{Setup, Task};

/// What a task needs to write one example.
struct Order<'a> {
    /// The example's number.
    index: usize,
    /// The wished length, in positions; `None` for the task's own variety.
    wished: Option<u32>,
    /// The longest that the model takes, in positions.
    longest: u32,
    /// Where content comes from.
    random: &'a mut Pcg64,
}

/// Writes `examples` examples of `task`.
pub(super) fn generate(setup: &Setup, task: Task, examples: u32, longest: u32) -> Result<Collected, DataError> {
    let write: fn(&mut Order<'_>) -> Written = match task {
        Task::Copy => copy::write,
        Task::Reverse => reverse::write,
        Task::Sort => sort::write,
        Task::Addition => addition::write,
        Task::TwoSources => two_sources::write,
    };
    let mut lengths_stream = stream(setup.seed, Purpose::Lengths);
    let mut random = stream(setup.seed, Purpose::Content);
    let mut collected = Collected::new(longest);
    for index in (0..).take(examples as usize) {
        let wished = lengths::wished(&setup.lengths, index, longest, &mut lengths_stream);
        collected.push(write(&mut Order {
            index,
            wished,
            longest,
            random: &mut random,
        }))?;
    }
    Ok(collected)
}
