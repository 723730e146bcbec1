//! What multiplies what on a loop's way from a loss to the gradient that its optimizer is given. The engine multiplies, this decides.

use super::{
    clip::{ClipAt, ClipOrder},
    convention::Convention,
    facts::{GroupFacts, MicrobatchFacts},
    recipe::{OptimizerStep, Recipe, Unscale},
};

/// The loss scale that a group began with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// What losses are multiplied by.
    pub scale: f64,
    /// What the scale would be multiplied by to grow.
    pub growth_factor: f64,
}

/// Where a loop believes a microbatch to stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its index, from 0.
    pub index: u32,
    /// Of how many.
    pub accumulation: u32,
}

/// The factors of one lane in one group.
#[derive(Clone, Copy, Debug)]
pub struct Weighing<'a> {
    /// How losses are weighed.
    pub convention: &'a Convention,
    /// The loop.
    pub recipe: &'a Recipe,
    /// The loss scale; `None` without one.
    pub scale: Option<Scale>,
    /// Whether factors enter before the backward in any case.
    pub before_backward: bool,
    /// Whether the group's gradients are left for a later update.
    pub carried: bool,
}

impl Weighing<'_> {
    /// Whether losses are multiplied before the backward: what a scale is for.
    pub fn enters_before(&self) -> bool {
        self.before_backward || self.scale.is_some()
    }

    /// Whether what follows accumulation may be a factor of each contribution: nobody looks at `.grad` in between.
    pub fn folded(&self) -> bool {
        *self.recipe == Recipe::default() && !self.enters_before()
    }

    /// Where the loop believes microbatch `index` (from 0) to stand.
    pub fn place(&self, index: u32, group: &GroupFacts) -> Place {
        match self.recipe.step {
            // Every microbatch is a group to a loop that steps after each.
            OptimizerStep::EachMicrobatch | OptimizerStep::MovesSummed => Place {
                index: 0,
                accumulation: 1,
            },
            // The loop counts on; its last microbatch is in the next epoch.
            OptimizerStep::Group if self.carried => Place {
                index,
                accumulation: group.nominal_accumulation,
            },
            OptimizerStep::Group => Place {
                index,
                accumulation: group.accumulation(),
            },
        }
    }

    /// What multiplies the loss sum of microbatch `k`, or its gradient. A mean over nothing is no number already, so 1 will do.
    pub fn of_loss(&self, group: &GroupFacts, k: &MicrobatchFacts) -> f64 {
        if self.folded() {
            return self.convention.coefficient(group, k);
        }
        let factor = if k.supervised == 0 {
            1.0
        } else {
            self.convention.loss_factor(group, k)
        };
        factor * self.scale_of(self.place(k.index, group))
    }

    fn scale_of(&self, place: Place) -> f64 {
        let of_loss = |scale: Scale| {
            let way = self.recipe.scale_in_group;
            way.of_loss(place.index, scale.scale, scale.growth_factor)
        };
        self.scale.map_or(1.0, of_loss)
    }

    /// What `.grad` is divided by once microbatch `place` is accumulated; `None` for nothing.
    pub fn divided_after(&self, place: Place) -> Option<f64> {
        let scale = self.scale?.scale;
        self.recipe.scale_in_group.divided_after(place.index, scale)
    }

    /// What multiplies `.grad` at the end of the group.
    pub fn at_end(&self, group: &GroupFacts) -> f64 {
        if self.folded() || self.carried {
            return 1.0;
        }
        let divisor = self.scale.map_or(1.0, |scale| {
            let way = self.recipe.scale_in_group;
            way.divided_at_end(scale.scale, scale.growth_factor)
        });
        self.convention.after_factor(group) / divisor
    }

    /// How much larger than a contribution what the loop clips in its stead is; `None` where it does not clip contributions.
    pub fn clips_contribution(&self, place: Place) -> Option<f64> {
        match self.recipe.clip_at {
            ClipAt::EachContribution => Some(self.ratio_inside(place)),
            ClipAt::EachMean => Some(f64::from(place.accumulation) * self.ratio_inside(place)),
            ClipAt::AfterAccumulation | ClipAt::RunningGradient => None,
        }
    }

    /// The same for what has been accumulated by microbatch `place`.
    pub fn clips_running(&self, place: Place) -> Option<f64> {
        (self.recipe.clip_at == ClipAt::RunningGradient).then(|| self.ratio_inside(place))
    }

    /// The same for the unscaled gradient of the whole group.
    pub fn clips_group(&self) -> Option<f64> {
        (self.recipe.clip_at == ClipAt::AfterAccumulation).then(|| match self.recipe.clip_order {
            ClipOrder::UnscaleThenClip => 1.0,
            ClipOrder::ClipThenUnscale => self.scale.map_or(1.0, |scale| scale.scale),
        })
    }

    /// Inside a group gradients are scaled.
    fn ratio_inside(&self, place: Place) -> f64 {
        match self.recipe.clip_order {
            ClipOrder::UnscaleThenClip => 1.0 / self.scale_of(place),
            ClipOrder::ClipThenUnscale => 1.0,
        }
    }

    /// How often the loop divides by the scale.
    pub fn unscales(&self, accumulation: u32) -> u32 {
        match self.recipe.unscale {
            Unscale::Once => 1,
            Unscale::Twice => accumulation,
        }
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "powers of two")]
mod tests {
    use super::*;
    use crate::batch::{ConventionId, scaler::ScaleInGroup};

    fn group() -> GroupFacts {
        let k = |index, supervised| MicrobatchFacts {
            replica: 0,
            index,
            examples: 1,
            scored_examples: 1,
            supervised,
            positions: 8,
            unpadded: 8,
        };
        GroupFacts {
            replicas: 1,
            nominal_accumulation: 4,
            microbatches: vec![k(0, 2), k(1, 0)],
        }
    }

    const SCALE: Scale = Scale {
        scale: 8.0,
        growth_factor: 2.0,
    };

    fn check(recipe: Recipe, scale: Option<Scale>, expect: impl FnOnce(Weighing<'_>)) {
        expect(Weighing {
            convention: Convention::of(ConventionId::DividedTwice),
            recipe: &recipe,
            scale,
            before_backward: false,
            carried: false,
        });
    }

    const fn at(index: u32, accumulation: u32) -> Place {
        Place { index, accumulation }
    }

    #[test]
    fn a_plain_loop_folds_what_follows_into_each_contribution() {
        check(Recipe::default(), None, |w| {
            let group = group();
            assert!(w.folded() && !w.enters_before());
            // 1 / n / 4 / 4, and nothing for the empty one.
            assert_eq!(w.of_loss(&group, &group.microbatches[0]), 1.0 / 32.0);
            assert_eq!(w.of_loss(&group, &group.microbatches[1]), 0.0);
            assert_eq!(w.at_end(&group), 1.0);
            assert_eq!(w.clips_group(), Some(1.0));
            assert_eq!(
                (w.clips_running(at(0, 2)), w.clips_contribution(at(0, 2))),
                (None, None)
            );
            assert_eq!(w.place(1, &group), at(1, 2));
            let first = Weighing {
                before_backward: true,
                ..w
            };
            assert!(first.enters_before() && !first.folded());
            assert_eq!(first.of_loss(&group, &group.microbatches[0]), 1.0 / 8.0);
            assert_eq!(first.at_end(&group), 0.25);
        });
    }

    #[test]
    fn a_scale_enters_with_the_loss_and_leaves_at_the_end() {
        let group = group();
        check(Recipe::default(), Some(SCALE), |w| {
            assert!(w.enters_before() && !w.folded());
            assert_eq!(w.of_loss(&group, &group.microbatches[0]), 1.0);
            assert_eq!(w.of_loss(&group, &group.microbatches[1]), 8.0);
            assert_eq!(w.at_end(&group), 0.25 / 8.0);
            assert_eq!(w.divided_after(at(0, 2)), None);
            assert_eq!(w.clips_group(), Some(1.0));
        });
        let grown = Recipe {
            scale_in_group: ScaleInGroup::GrownAfterFirst,
            ..Recipe::default()
        };
        check(grown, Some(SCALE), |w| {
            assert_eq!(w.of_loss(&group, &group.microbatches[1]), 16.0);
            assert_eq!(w.at_end(&group), 0.25 / 16.0);
        });
        let early = Recipe {
            scale_in_group: ScaleInGroup::UnscaledAfterFirst,
            ..Recipe::default()
        };
        check(early, Some(SCALE), |w| {
            assert_eq!(w.divided_after(at(0, 2)), Some(8.0));
            assert_eq!(w.divided_after(at(1, 2)), None);
            assert_eq!(w.at_end(&group), 0.25);
        });
        check(early, None, |w| assert_eq!(w.divided_after(at(0, 2)), None));
    }

    #[test]
    fn what_a_clip_sees() {
        let clipping = |clip_at, clip_order| Recipe {
            clip_at,
            clip_order,
            ..Recipe::default()
        };
        let cases = [
            (
                ClipAt::AfterAccumulation,
                ClipOrder::UnscaleThenClip,
                (None, None, Some(1.0)),
            ),
            (
                ClipAt::AfterAccumulation,
                ClipOrder::ClipThenUnscale,
                (None, None, Some(8.0)),
            ),
            (
                ClipAt::EachContribution,
                ClipOrder::UnscaleThenClip,
                (Some(0.125), None, None),
            ),
            (
                ClipAt::EachContribution,
                ClipOrder::ClipThenUnscale,
                (Some(1.0), None, None),
            ),
            (ClipAt::EachMean, ClipOrder::UnscaleThenClip, (Some(0.25), None, None)),
            (ClipAt::EachMean, ClipOrder::ClipThenUnscale, (Some(2.0), None, None)),
            (
                ClipAt::RunningGradient,
                ClipOrder::UnscaleThenClip,
                (None, Some(0.125), None),
            ),
            (
                ClipAt::RunningGradient,
                ClipOrder::ClipThenUnscale,
                (None, Some(1.0), None),
            ),
        ];
        for (clip_at, order, expected) in cases {
            check(clipping(clip_at, order), Some(SCALE), |w| {
                let place = at(0, 2);
                let ours = (w.clips_contribution(place), w.clips_running(place), w.clips_group());
                assert_eq!(ours, expected, "{clip_at:?} {order:?}");
            });
        }
        check(
            clipping(ClipAt::AfterAccumulation, ClipOrder::ClipThenUnscale),
            None,
            |w| {
                assert_eq!(w.clips_group(), Some(1.0));
            },
        );
    }

    #[test]
    fn places_and_unscalings() {
        for step in [OptimizerStep::EachMicrobatch, OptimizerStep::MovesSummed] {
            let stepping = Recipe {
                step,
                ..Recipe::default()
            };
            assert!(step.inside());
            check(stepping, None, |w| assert_eq!(w.place(1, &group()), at(0, 1)));
        }
        assert!(!OptimizerStep::Group.inside());
        check(Recipe::default(), Some(SCALE), |w| {
            let carried = Weighing { carried: true, ..w };
            assert_eq!(carried.place(1, &group()), at(1, 4));
            assert_eq!(carried.at_end(&group()), 1.0);
            assert_eq!(w.unscales(4), 1);
        });
        let twice = Recipe {
            unscale: Unscale::Twice,
            ..Recipe::default()
        };
        check(twice, Some(SCALE), |w| {
            assert_eq!((w.unscales(4), w.unscales(1)), (4, 1));
        });
    }
}
