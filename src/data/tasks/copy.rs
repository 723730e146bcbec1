//! `abc=abc`.

use super::{Order, Written, letters};

pub(super) fn write(order: Order<'_>) -> Written {
    letters::write(order, |_| ())
}
