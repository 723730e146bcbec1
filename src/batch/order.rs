//! In which order an epoch goes through the data.

use rand::{SeedableRng, seq::SliceRandom};
use rand_pcg::Pcg64;

use super::ExampleId;

/// The examples `0..count` in the order of this epoch: as they stand, or shuffled anew from the seed and the epoch's number.
///
/// ```
/// use microbatch_lab::batch::{ExampleId, epoch_order};
/// assert_eq!(epoch_order(3, None, 0), [ExampleId(0), ExampleId(1), ExampleId(2)]);
/// assert_eq!(epoch_order(50, Some(7), 2), epoch_order(50, Some(7), 2));
/// assert_ne!(epoch_order(50, Some(7), 2), epoch_order(50, Some(7), 3));
/// ```
pub fn epoch_order(count: u32, shuffle_seed: Option<u32>, epoch: u32) -> Vec<ExampleId> {
    let mut order: Vec<ExampleId> = (0..count).map(ExampleId).collect();
    if let Some(seed) = shuffle_seed {
        // Each epoch has a generator of its own, so that one epoch's order can be had without the epochs before it.
        order.shuffle(&mut Pcg64::seed_from_u64(u64::from(seed) << 32 | u64::from(epoch)));
    }
    order
}

/// The same order made divisible by D: the first examples once more, as `DistributedSampler` pads where it does not drop.
/// These duplicates are worked on and weigh like any example.
///
/// ```
/// use microbatch_lab::batch::{epoch_order, order::padded_to_replicas};
/// let padded: Vec<u32> = padded_to_replicas(epoch_order(10, None, 0), 4).iter().map(|id| id.0).collect();
/// assert_eq!(padded, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]);
/// ```
pub fn padded_to_replicas(mut order: Vec<ExampleId>, replicas: u32) -> Vec<ExampleId> {
    let replicas = usize::try_from(replicas).unwrap_or(usize::MAX).max(1);
    let missing = order.len().next_multiple_of(replicas) - order.len();
    let again: Vec<ExampleId> = order.iter().copied().cycle().take(missing).collect();
    order.extend(again);
    order
}
