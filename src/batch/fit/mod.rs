//! The largest microbatch that fits: which sizes to try, what a try goes through, and the A that then keeps the target batch.

mod held;

use super::Split;

pub use held::{Held, fewer_take_less, group, grows_for_ever, tried, worst};

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

/// A search for the largest size that fits: doubling from 1, then halving what is left. Up to some size, and again beyond it, whatever
/// is larger than one that does not fit does not fit either, but for [`Self::passing_by`]. Nothing larger than twice a size that fits is ever
/// tried without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// The largest that is known to fit; 0 at first.
    fits: u32,
    /// Only larger ones are looked at.
    above: u32,
    /// The smallest that is known not to fit, or one past the largest that is comparable.
    fails: u32,
    /// Those that are compared only with each other, once the others are done: larger than the first number, up to the second.
    beyond: Option<(u32, u32)>,
    /// Whether a size that does not fit says nothing of larger ones while none has fitted.
    passes: bool,
}

impl Search {
    /// Among 1 to `largest`, those up to `comparable` first.
    pub fn up_to(largest: u32, comparable: u32) -> Self {
        let first = if comparable == 0 {
            largest
        } else {
            comparable.min(largest)
        };
        Self {
            fits: 0,
            above: 0,
            fails: first.saturating_add(1),
            beyond: Some((first, largest)),
            passes: false,
        }
    }

    /// The same where a size that does not fit says nothing of larger ones, until one has fitted: doubling goes on past it.
    #[must_use]
    pub fn passing_by(self) -> Self {
        Self { passes: true, ..self }
    }

    /// The size to try next; `None` once the answer is known.
    pub fn next(self) -> Option<u32> {
        let between = self.above + (self.fails - self.above) / 2;
        let from = if self.passes { self.above } else { self.fits };
        let next = between.min((from * 2).max(self.above + 1));
        (next > self.above).then_some(next)
    }

    /// Takes what came of a try.
    #[must_use]
    pub fn tried(self, size: u32, fits: bool) -> Self {
        let known = if fits {
            Self {
                fits: self.fits.max(size),
                above: self.above.max(size),
                ..self
            }
        } else if self.passes && self.fits == 0 {
            Self { above: size, ..self }
        } else {
            Self {
                fails: self.fails.min(size),
                ..self
            }
        };
        let near = |above: u32| self.passes || above < 2 * known.fits.max(1);
        match known.beyond {
            Some((above, largest)) if known.next().is_none() && near(above) => Self {
                above,
                fails: largest.saturating_add(1),
                beyond: None,
                ..known
            },
            _ => known,
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
                let (answer, tries) = search(largest, largest, |size| size <= limit);
                let expected = Some(limit.min(largest)).filter(|&n| n > 0);
                assert_eq!(answer, expected, "up to {largest}, {limit} fits");
                assert!(
                    tries <= 2 * (largest.max(1).ilog2() + 1) + 1,
                    "{tries} tries up to {largest}"
                );
            }
        }
    }

    fn search(largest: u32, comparable: u32, fits: impl Fn(u32) -> bool) -> (Option<u32>, u32) {
        let (mut search, mut tries, mut most) = (Search::up_to(largest, comparable), 0u32, 0);
        while let Some(size) = search.next() {
            assert!((1..=largest).contains(&size));
            assert!(size <= 2 * u32::max(most, 1), "{size} tried where {most} fits");
            search = search.tried(size, fits(size));
            most = if fits(size) { most.max(size) } else { most };
            tries += 1;
        }
        (search.answer(), tries)
    }

    /// Sizes beyond the comparable ones may fit where smaller ones do not, and each range is searched for itself.
    #[test]
    fn sizes_that_cannot_be_compared_are_searched_apart() {
        for largest in 1..60u32 {
            for comparable in 0..=largest {
                for limit in 0..=largest {
                    for later in 0..=largest {
                        let fits = |size: u32| size <= if size <= comparable { limit } else { later };
                        let low = limit.min(comparable);
                        let near = comparable == 0 || comparable < 2 * low.max(1);
                        let high = if later > comparable && near {
                            later.min(largest)
                        } else {
                            0
                        };
                        let expected = Some(low.max(high)).filter(|&n| n > 0);
                        assert_eq!(
                            search(largest, comparable, fits).0,
                            expected,
                            "{largest} {comparable} {limit} {later}"
                        );
                    }
                }
            }
        }
    }

    /// Where the few are too many, larger sizes are looked at all the same, and the largest is found once one has fitted.
    #[test]
    fn sizes_that_do_not_fit_are_passed_by_until_one_does() {
        for largest in 1..130u32 {
            for least in [1, 2, 4, 8, 16, 32, 64] {
                for limit in least..=largest {
                    let mut search = Search::up_to(largest, largest - 1).passing_by();
                    while let Some(size) = search.next() {
                        search = search.tried(size, (least..=limit).contains(&size));
                    }
                    // Doubling steps from a power of two to the next, or half way to the end.
                    let met = least <= largest / 2 || limit == largest;
                    if met {
                        assert_eq!(search.answer(), Some(limit), "{least} to {limit} of {largest}");
                    }
                }
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
