//! The largest microbatch that fits: which sizes to try, and the A that then keeps the target batch.

use super::Split;

/// How a target batch is cut with a given m.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// A: the most microbatches a replica may accumulate without passing the target.
    pub accumulation: u32,
    /// Examples of the target that are left out of each update; 0 where m x A x D is the target.
    pub remainder: u64,
}

impl Kept {
    /// The A that keeps `target` examples an update with `microbatch` on each of `replicas`, or comes nearest from below; `None` where
    /// one microbatch a replica is already more.
    ///
    /// ```
    /// use microbatch_lab::batch::fit::Kept;
    /// assert_eq!(Kept::of(64, 4, 2), Some(Kept { accumulation: 8, remainder: 0 }));
    /// assert_eq!(Kept::of(64, 7, 2), Some(Kept { accumulation: 4, remainder: 8 }));
    /// assert_eq!(Kept::of(64, 33, 2), None);
    /// ```
    pub fn of(target: u64, microbatch: u32, replicas: u32) -> Option<Self> {
        let at_once = u64::from(microbatch) * u64::from(replicas);
        let accumulation = target.checked_div(at_once).filter(|&a| a > 0)?;
        Some(Self {
            accumulation: u32::try_from(accumulation).unwrap_or(u32::MAX),
            remainder: target - accumulation * at_once,
        })
    }

    /// The largest m that leaves every replica of `split` a microbatch of its target batch.
    pub fn largest_microbatch(split: Split) -> u32 {
        u32::try_from(split.per_replica()).unwrap_or(u32::MAX)
    }
}

/// A search for the largest size that fits, where whatever is larger than one that does not fit does not fit either: doubling from 1,
/// then halving what is left. Nothing larger than twice a size that fits is ever tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// The largest that is known to fit; 0 at first.
    fits: u32,
    /// The smallest that is known not to, or one past the largest allowed.
    fails: u32,
}

impl Search {
    /// Among 1 to `largest`.
    pub fn up_to(largest: u32) -> Self {
        Self {
            fits: 0,
            fails: largest.saturating_add(1),
        }
    }

    /// The size to try next; `None` once the answer is known.
    pub fn next(self) -> Option<u32> {
        let between = self.fits + (self.fails - self.fits) / 2;
        let next = between.min((self.fits * 2).max(1));
        (next > self.fits && next < self.fails).then_some(next)
    }

    /// Takes what came of a try.
    #[must_use]
    pub fn tried(self, size: u32, fits: bool) -> Self {
        if fits {
            Self {
                fits: self.fits.max(size),
                ..self
            }
        } else {
            Self {
                fails: self.fails.min(size),
                ..self
            }
        }
    }

    /// The largest size that fits; `None` where none does.
    pub fn answer(self) -> Option<u32> {
        (self.fits > 0).then_some(self.fits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every answer, over every largest size: found, never past twice a size that fits, and in few tries.
    #[test]
    fn the_largest_that_fits_is_found_in_few_tries() {
        for largest in 0..130u32 {
            for limit in 0..=largest + 2 {
                let (mut search, mut tries) = (Search::up_to(largest), 0u32);
                while let Some(size) = search.next() {
                    assert!((1..=largest).contains(&size));
                    assert!(size <= 2 * limit.max(1), "{size} tried where {limit} is the limit");
                    search = search.tried(size, size <= limit);
                    tries += 1;
                }
                let expected = Some(limit.min(largest)).filter(|&n| n > 0);
                assert_eq!(search.answer(), expected, "up to {largest}, {limit} fits");
                assert!(
                    tries <= 2 * (largest.max(1).ilog2() + 1) + 1,
                    "{tries} tries up to {largest}"
                );
            }
        }
    }

    #[test]
    fn the_target_is_kept_or_what_is_missing_is_less_than_one_more_microbatch_each() {
        for target in 1..200u64 {
            for microbatch in 1..20u32 {
                for replicas in 1..6u32 {
                    let at_once = u64::from(microbatch * replicas);
                    let Some(kept) = Kept::of(target, microbatch, replicas) else {
                        assert!(at_once > target);
                        continue;
                    };
                    assert!(kept.accumulation >= 1 && kept.remainder < at_once);
                    assert_eq!(at_once * u64::from(kept.accumulation) + kept.remainder, target);
                }
            }
        }
        assert_eq!(Kept::of(8, 0, 1), None);
    }

    #[test]
    fn a_split_that_fits_as_it_is_keeps_its_a() {
        for (m, a, d) in [(2, 8, 2), (1, 1, 1), (3, 5, 7)] {
            let split = Split::new(m, a, d).unwrap();
            let kept = Kept::of(split.effective_batch(), m, d);
            assert_eq!(
                kept,
                Some(Kept {
                    accumulation: a,
                    remainder: 0
                })
            );
            assert_eq!(Kept::largest_microbatch(split), m * a);
            assert_eq!(
                Kept::of(split.effective_batch(), m * a, d).map(|kept| kept.accumulation),
                Some(1)
            );
        }
    }
}
