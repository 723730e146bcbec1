//! The order in which an epoch takes its examples.

use rand::seq::SliceRandom;

use super::random::{Purpose, stream};
use crate::{batch::ExampleId, setup::Setup};

/// The IDs of `count` examples in the order of epoch `epoch` (from 0): as they stand, or shuffled anew.
pub fn epoch_order(setup: &Setup, count: usize, epoch: u32) -> Vec<ExampleId> {
    let mut order: Vec<ExampleId> = (0u32..).take(count).map(ExampleId).collect();
    if setup.shuffle {
        order.shuffle(&mut stream(setup.seed, Purpose::Order { epoch }));
    }
    order
}
