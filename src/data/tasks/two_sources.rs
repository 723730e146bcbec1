//! One letter at every position, all of them supervised: two sources with losses of their own.

use super::{Order, Written, lengths};

/// The source of the first, third, ... example, and that of the others.
const SOURCES: [char; 2] = ['s', 'l'];

/// Positions of the task's own variety.
const MEDIAN: f64 = 12.0;
const SPREAD: f64 = 0.6;

pub(super) fn write(order: &mut Order<'_>) -> Written {
    let own = || lengths::log_normal(MEDIAN, SPREAD, order.random).min(order.longest);
    let length = order.wished.unwrap_or_else(own);
    Written::running(vec![SOURCES[order.index % 2]; length as usize + 1])
}
