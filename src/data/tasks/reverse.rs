//! `abc=cba`.

use super::{Order, Written, letters};

pub(super) fn write(order: &mut Order<'_>) -> Written {
    letters::write(order, |letters| letters.reverse())
}
