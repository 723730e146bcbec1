//! Random numbers from the Setup's seed: one stream a purpose, so that changing one thing leaves the others as they were.

use rand::SeedableRng;
use rand_pcg::Pcg64;

/// What random numbers are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Lengths of examples.
    Lengths,
    /// What stands in generated examples.
    Content,
}

/// The stream of `seed` for `purpose`.
pub(super) fn stream(seed: u32, purpose: Purpose) -> Pcg64 {
    let number = match purpose {
        Purpose::Lengths => 1,
        Purpose::Content => 2,
    };
    // The seeding function mixes all 64 bits.
    Pcg64::seed_from_u64(u64::from(seed) | number << 32)
}
