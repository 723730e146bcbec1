//! All randomness, from the Setup's seed: one stream a purpose, so that changing one thing leaves the others as they were.

use rand::SeedableRng;
use rand_pcg::Pcg64;

/// What random numbers are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Lengths of examples.
    Lengths,
    /// What stands in generated examples.
    Content,
    /// The order of one epoch's examples.
    Order {
        /// Its number, from 0.
        epoch: u32,
    },
    /// The parameters' start.
    Parameters,
}

/// The stream of `seed` for `purpose`.
pub fn stream(seed: u32, purpose: Purpose) -> Pcg64 {
    let (number, epoch) = match purpose {
        Purpose::Lengths => (1, 0),
        Purpose::Content => (2, 0),
        Purpose::Order { epoch } => (3, epoch),
        Purpose::Parameters => (4, 0),
    };
    // The seeding function mixes all 64 bits: seed, purpose and the low 24 bits of the epoch each have their own.
    Pcg64::seed_from_u64(u64::from(seed) | number << 32 | u64::from(epoch) << 40)
}
