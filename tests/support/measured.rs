//! Runs whose bytes are counted: one at a time, since the count is the process's.

use std::sync::{Mutex, MutexGuard, PoisonError};

use microbatch_lab::{
    engine::{Advance, Session},
    protocol::GroupRow,
};

/// Holds off the other tests of this process.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The next group.
pub(crate) fn group(session: &mut Session) -> GroupRow {
    loop {
        if let Advance::Updated(row) = pollster::block_on(session.advance(false)).expect("the run goes on") {
            return *row;
        }
    }
}

/// The next groups.
pub(crate) fn groups(session: &mut Session, count: u64) -> Vec<GroupRow> {
    (0..count).map(|_| group(session)).collect()
}
