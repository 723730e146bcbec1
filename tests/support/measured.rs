//! Runs whose bytes are counted: one at a time, since the count is the process's.

use std::{
    panic::resume_unwind,
    sync::{Mutex, PoisonError},
    thread,
};

use microbatch_lab::{
    engine::{Advance, Session},
    protocol::GroupRow,
};

/// Holds off the other tests of this process. The body has a thread of its own, and what the device's libraries keep for a thread is
/// given back before the next test counts.
#[expect(
    clippy::disallowed_methods,
    reason = "these tests are native: a thread is to end here"
)]
pub(crate) fn alone(body: impl FnOnce() + Send + 'static) {
    static ONE: Mutex<()> = Mutex::new(());
    let _held = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Err(panic) = thread::spawn(body).join() {
        resume_unwind(panic);
    }
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
