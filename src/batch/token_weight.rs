//! What one supervised token counts in an update, faults of the loop included: the contributions that survive the loop, followed as numbers.

use super::{
    LaneRule, Recipe,
    clip::{ClipAt, ClipOrder},
    convention::{Pass, TokenWeights},
    empty_mean::EmptyMean,
    facts::{GroupFacts, MicrobatchFacts},
    no_sync::SyncMode,
    recipe::{Tail, Unscale},
    weighing::{Scale, Weighing},
    zero_grad::ZeroGrad,
};

/// Why there is no one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoWeight {
    /// The microbatch has no supervised token.
    NoToken,
    /// Tokens of one microbatch weigh differently.
    ByExample,
    /// Each microbatch makes an update, or a move, of its own.
    OwnMoves,
    /// Times a clip's coefficient, which only the run knows.
    Clipped,
    /// Each replica makes its own update.
    Parted,
    /// Gradients of earlier groups are in the update, too.
    Lingering,
    /// It waits for a later update.
    Carried,
    /// A mean over no token makes the whole gradient not a number.
    NotANumber,
    /// The framework refuses the update.
    Refused,
    /// What was reported does not tell it.
    Untold,
}

impl LaneRule {
    /// Whether this loop hands its optimizer the gradient that its convention means, in every group: what is wrong with it, if anything,
    /// is its schedule, its log, its memory or its communication.
    pub fn spares_gradient(self) -> bool {
        let recipe = self.recipe();
        let about_gradients = Recipe {
            sync: if parts(recipe.sync) {
                recipe.sync
            } else {
                SyncMode::default()
            },
            scheduler_step: None,
            horizon: Recipe::default().horizon,
            logged: Recipe::default().logged,
            graph: Recipe::default().graph,
            ..recipe
        };
        about_gradients == Recipe::default()
    }
}

/// Whether `.grad` differs between replicas at the update.
fn parts(sync: SyncMode) -> bool {
    !sync.reduces(1, 2)
}

/// What one supervised token of microbatch `k` counts in the group's update, as a multiple of 1/N. `scale` is the loss scale that the
/// group began with.
pub fn token_weight(
    rule: LaneRule,
    group: &GroupFacts,
    k: &MicrobatchFacts,
    partial: bool,
    scale: Option<Scale>,
) -> Result<f64, NoWeight> {
    let convention = rule.convention();
    if k.supervised == 0 {
        return Err(NoWeight::NoToken);
    }
    if convention.pass == Pass::Whole {
        return Ok(1.0);
    }
    let tail = if partial { rule.recipe().tail } else { Tail::Processed };
    let recipe = rule.recipe();
    match tail {
        Tail::Dropped => return Ok(0.0),
        Tail::Carried => return Err(NoWeight::Carried),
        Tail::Processed => {}
    }
    if recipe.unscale == Unscale::Twice && group.accumulation() > 1 {
        return Err(NoWeight::Refused);
    }
    let of_none = || {
        let ks = &group.microbatches;
        ks.iter().any(|k| convention.is_mean_of_none(group, k))
    };
    if recipe.empty_mean == EmptyMean::HandMasked && of_none() {
        return Err(NoWeight::NotANumber);
    }
    if recipe.step.inside() && group.accumulation() > 1 {
        return Err(NoWeight::OwnMoves);
    }
    if recipe.zero_grad.after_backward() {
        return Ok(0.0);
    }
    if convention.token_weights != TokenWeights::Uniform {
        return Err(NoWeight::ByExample);
    }
    if recipe.clip_at != ClipAt::AfterAccumulation || recipe.clip_order != ClipOrder::UnscaleThenClip {
        return Err(NoWeight::Clipped);
    }
    if recipe.zero_grad == ZeroGrad::Forgotten {
        return Err(NoWeight::Lingering);
    }
    let weighing = Weighing {
        convention,
        recipe: &recipe,
        scale,
        before_backward: false,
        carried: false,
    };
    Ok(followed(&weighing, group, k)? * weighing.at_end(group) * group.supervised() as f64)
}

/// What is left of the contribution of `k` in every replica's `.grad` at the end of the group, followed through what the loop does
/// after it.
fn followed(weighing: &Weighing<'_>, group: &GroupFacts, k: &MicrobatchFacts) -> Result<f64, NoWeight> {
    let recipe = weighing.recipe;
    let accumulation = group.accumulation();
    let works: Vec<u64> = (0..group.replicas).map(|d| group.accumulated_on(d)).collect();
    let mut left = vec![0.0; works.len()];
    let single = recipe.sync == SyncMode::SingleBackward;
    for index in k.index..accumulation {
        for ((left, &works), d) in left.iter_mut().zip(&works).zip(0..) {
            // All losses of a replica go back with its last one, after the last time that it is cleared.
            if recipe.zero_grad.before_backward() && u64::from(index) < works && !single {
                *left = 0.0;
            }
            if index == k.index && d == k.replica {
                *left += weighing.of_loss(group, k);
            }
        }
        if recipe.sync.reduces(index, accumulation) {
            let mean = left.iter().sum::<f64>() / left.len().max(1) as f64;
            left.fill(mean);
        }
        if let Some(divisor) = weighing.divided_after(weighing.place(index, group)) {
            for left in &mut left {
                *left /= divisor;
            }
        }
    }
    let first = left.first().copied().unwrap_or(0.0);
    if left
        .iter()
        .any(|other| (other - first).abs() > 1e-12 * first.abs().max(other.abs()))
    {
        return Err(NoWeight::Parted);
    }
    Ok(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{ConventionId, FaultId, Faults};

    /// Two replicas with two microbatches each: 1, 2, 3 and 4 tokens in the order of work.
    fn group(replicas: u32) -> GroupFacts {
        let k = |(cell, supervised): (u32, u64)| MicrobatchFacts {
            replica: cell % replicas,
            index: cell / replicas,
            examples: 1,
            scored_examples: 1,
            supervised,
            positions: 8,
            unpadded: 8,
        };
        GroupFacts {
            replicas,
            nominal_accumulation: 4 / replicas,
            microbatches: (0..).zip([1, 2, 3, 4]).map(k).collect(),
        }
    }

    fn rule(convention: ConventionId, fault: FaultId) -> LaneRule {
        LaneRule {
            convention,
            faults: Faults::NONE.and(fault).unwrap(),
        }
    }

    const SCALE: Scale = Scale {
        scale: 8.0,
        growth_factor: 2.0,
    };

    fn weights(rule: LaneRule, group: &GroupFacts, partial: bool) -> Vec<Result<f64, NoWeight>> {
        let ks = group.microbatches.iter();
        ks.map(|k| token_weight(rule, group, k, partial, Some(SCALE))).collect()
    }

    fn close(ours: &[Result<f64, NoWeight>], expected: [f64; 4]) {
        for (ours, expected) in ours.iter().zip(expected) {
            let ours = ours.unwrap();
            assert!((ours - expected).abs() < 1e-12, "{ours} {expected}");
        }
        assert_eq!(ours.len(), 4);
    }

    #[test]
    fn what_is_cleared_away_weighs_nothing() {
        let before = rule(ConventionId::TokenWeighted, FaultId::ZeroGradBeforeBackward);
        close(&weights(before, &group(1), false), [0.0, 0.0, 0.0, 1.0]);
        close(&weights(before, &group(2), false), [0.0, 0.0, 1.0, 1.0]);
        let after = rule(ConventionId::TokenWeighted, FaultId::ZeroGradAfterBackward);
        close(&weights(after, &group(2), false), [0.0; 4]);
        // One backward for all comes after every clearing.
        let mut single = before;
        single.faults = single.faults.and(FaultId::SingleBackward).unwrap();
        close(&weights(single, &group(2), false), [1.0; 4]);
    }

    #[test]
    fn with_one_microbatch_a_replica_there_is_no_inside_to_go_wrong() {
        for fault in [FaultId::UnscaleTwice, FaultId::StepEachMicrobatch] {
            close(
                &weights(rule(ConventionId::TokenWeighted, fault), &group(4), false),
                [1.0; 4],
            );
            assert!(weights(rule(ConventionId::TokenWeighted, fault), &group(2), false)[0].is_err());
        }
    }

    #[test]
    fn a_replica_that_is_done_keeps_what_it_exchanged_early() {
        // Replica 1 has one microbatch only, so the mean of the first exchange stays in its .grad.
        let mut uneven = group(2);
        uneven.microbatches.pop();
        let mut rule = rule(ConventionId::TokenWeighted, FaultId::ZeroGradBeforeBackward);
        rule.faults = rule.faults.and(FaultId::SyncEachMicrobatch).unwrap();
        let ours: Vec<f64> = weights(rule, &uneven, false).into_iter().map(Result::unwrap).collect();
        assert!(
            (ours[0] - 0.5).abs() + (ours[1] - 0.5).abs() + (ours[2] - 1.0).abs() < 1e-12,
            "{ours:?}"
        );
    }

    #[test]
    fn what_does_not_touch_gradients_leaves_the_convention_its_weights() {
        let spared = [
            FaultId::SchedulerEachMicrobatch,
            FaultId::SchedulerEachAttempt,
            FaultId::SchedulerBeforeOptimizer,
            FaultId::HorizonInMicrobatches,
            FaultId::LogDividedTwice,
            FaultId::LogLastTimesA,
            FaultId::SyncEachMicrobatch,
            FaultId::ForwardOutsideNoSync,
            FaultId::LastForwardOutsideNoSync,
            FaultId::SingleBackward,
            FaultId::GraphRetained,
        ];
        for row in crate::batch::fault::TABLE {
            let lane = rule(ConventionId::MeanOfMeans, row.id);
            assert_eq!(lane.spares_gradient(), spared.contains(&row.id), "{:?}", row.id);
            if spared.contains(&row.id) {
                let means = [10.0, 5.0, 10.0 / 3.0, 2.5].map(|x| x / 4.0);
                close(&weights(lane, &group(2), true), means);
                close(&weights(lane, &group(1), true), means);
            }
        }
        assert!(LaneRule::from(ConventionId::Sum).spares_gradient());
    }

    #[test]
    fn a_scale_that_moves_inside_the_group_weighs() {
        let grown = rule(ConventionId::TokenWeighted, FaultId::ScaleGrownInGroup);
        close(&weights(grown, &group(1), false), [0.5, 1.0, 1.0, 1.0]);
        let early = rule(ConventionId::TokenWeighted, FaultId::UnscaledAfterFirst);
        close(&weights(early, &group(2), false), [1.0, 1.0, 8.0, 8.0]);
    }

    #[test]
    fn where_there_is_no_one_number_the_reason_is_told() {
        let told = |fault, partial| {
            let weights = weights(rule(ConventionId::TokenWeighted, fault), &group(2), partial);
            assert!(weights.windows(2).all(|two| two[0].is_ok() == two[1].is_ok()));
            weights[0]
        };
        for (fault, expected) in [
            (FaultId::ZeroGradForgotten, NoWeight::Lingering),
            (FaultId::StepEachMicrobatch, NoWeight::OwnMoves),
            (FaultId::MovesSummed, NoWeight::OwnMoves),
            (FaultId::ClipEachMean, NoWeight::Clipped),
            (FaultId::ClipBeforeUnscale, NoWeight::Clipped),
            (FaultId::UnscaleTwice, NoWeight::Refused),
            (FaultId::NeverSynced, NoWeight::Parted),
        ] {
            assert_eq!(told(fault, false), Err(expected), "{fault:?}");
        }
        assert_eq!(told(FaultId::TailCarried, true), Err(NoWeight::Carried));
        assert_eq!(told(FaultId::TailDropped, true), Ok(0.0));
        assert!(told(FaultId::TailCarried, false).is_ok() && told(FaultId::TailDropped, false).is_ok());
        // What was exchanged too early is shared; what came later is not.
        let first = weights(
            rule(ConventionId::TokenWeighted, FaultId::SyncFirstMicrobatch),
            &group(2),
            false,
        );
        assert_eq!(
            first.iter().map(Result::is_ok).collect::<Vec<_>>(),
            [true, true, false, false]
        );
        // One replica has nobody to part from.
        close(
            &weights(
                rule(ConventionId::TokenWeighted, FaultId::NeverSynced),
                &group(1),
                false,
            ),
            [1.0; 4],
        );
        let by_example = weights(ConventionId::ExampleMean.into(), &group(1), false);
        assert_eq!(by_example[0], Err(NoWeight::ByExample));
        close(&weights(ConventionId::FullBatch.into(), &group(1), false), [1.0; 4]);
        let mut empty = group(1);
        empty.microbatches[1].supervised = 0;
        let hand = weights(rule(ConventionId::MeanOfMeans, FaultId::HandMaskedMean), &empty, false);
        assert_eq!(hand[..2], [Err(NoWeight::NotANumber), Err(NoWeight::NoToken)]);
        let hand = rule(ConventionId::TokenWeighted, FaultId::HandMaskedMean);
        assert!(weights(hand, &empty, false)[0].is_ok());
    }
}
