//! A group's loss as written arithmetic.

use crate::{
    batch::{ConventionId, GroupPlan, LaneRule, NoWeight, TokenWeights, recipe::Tail, token_weight, weighing::Scale},
    lab::Recording,
    protocol::LaneRow,
    ui::format,
};

/// Up to this many microbatch means are written out.
const MEANS_WRITTEN: usize = 4;

/// A coefficient looks at the whole group, so with more microbatches than this the sum over all of them would hold up the page.
const WEIGHED: usize = 256;

/// `7168 / 2048`, the loss sum by the supervised tokens; empty where nothing was scored.
pub fn weighted(lane: &LaneRow) -> String {
    if lane.loss.supervised == 0 {
        return String::new();
    }
    format!(
        "{} / {}",
        format::sum(lane.loss.loss_sum),
        format::count(lane.loss.supervised)
    )
}

/// `(2 + 4) / 2`, the microbatch means by their number; their sum alone where they are many.
pub fn unweighted(plan: &GroupPlan, lane: &LaneRow) -> String {
    if lane.loss.means == 0 {
        return String::new();
    }
    let scored = plan
        .microbatches
        .iter()
        .zip(&lane.loss_sums)
        .filter(|(k, _)| k.facts.supervised > 0);
    let means: Vec<String> = scored
        .map(|(k, sum)| format::loss(sum / k.facts.supervised as f64))
        .collect();
    let written = means.len() as u64 == lane.loss.means && (2..=MEANS_WRITTEN).contains(&means.len());
    let numerator = if written {
        format!("({})", means.join(" + "))
    } else {
        format::sum(lane.loss.sum_of_means)
    };
    format!("{numerator} / {}", format::count(lane.loss.means))
}

/// The loss scale that a group began with.
pub fn scale(recording: &Recording, lane: &LaneRow) -> Option<Scale> {
    Some(Scale {
        scale: lane.scale?.used,
        growth_factor: recording.setup.loss_scale?.growth_factor,
    })
}

/// The number whose gradient this lane follows: `1/N · Σ weight_k · S_k`, with what one token of each microbatch weighs in the update.
/// Where there is no one such number, why.
pub fn trained_on(rule: LaneRule, plan: &GroupPlan, lane: &LaneRow, scale: Option<Scale>) -> Result<f64, NoWeight> {
    let convention = rule.convention();
    if convention.correct && rule.spares_gradient() {
        return lane.loss.token_weighted().ok_or(NoWeight::NoToken);
    }
    // From the second epoch on, what the last partial group left may be in the update, too.
    if rule.recipe().tail == Tail::Carried && plan.epoch > 0 && !plan.partial {
        return Err(NoWeight::Lingering);
    }
    if plan.microbatches.len() > WEIGHED {
        return Err(NoWeight::Untold);
    }
    let facts = plan.facts();
    let weights = (facts.microbatches.iter().enumerate())
        .filter(|(_, k)| k.supervised > 0)
        .map(|(at, k)| Ok((at, token_weight(rule, &facts, k, plan.partial, scale)?)))
        .collect::<Result<Vec<_>, NoWeight>>()?;
    if weights.is_empty() {
        return Err(NoWeight::NoToken);
    }
    if lane.loss_sums.len() != plan.microbatches.len() {
        return Err(NoWeight::Untold);
    }
    let sum_of = |at: usize| lane.loss_sums.get(at).copied().unwrap_or_default();
    let sum: f64 = weights.iter().map(|&(at, weight)| weight * sum_of(at)).sum();
    Ok(sum / facts.supervised() as f64)
}

/// What the group's losses add up to as they are back-propagated, averaged over replicas: `1/D · Σ factor_k · S_k`, whatever becomes of
/// their gradients. `None` where the reported sums do not tell it; NaN where a mean over no token enters.
pub fn backpropagated(rule: LaneRule, plan: &GroupPlan, lane: &LaneRow) -> Option<f64> {
    let convention = rule.convention();
    if convention.correct {
        return lane.loss.token_weighted();
    }
    let told = convention.token_weights == TokenWeights::Uniform && lane.loss_sums.len() == plan.microbatches.len();
    if !told || plan.microbatches.len() > WEIGHED {
        return None;
    }
    let facts = plan.facts();
    let sums = facts.microbatches.iter().zip(&lane.loss_sums);
    let sum: f64 = sums
        .map(|(k, &sum)| convention.backpropagated_loss(&facts, k, sum))
        .sum();
    Some(sum / f64::from(plan.replicas.max(1)))
}

/// Whether the mean of microbatch means, as frameworks compute it, is the plain mean of all of them: where a microbatch is empty, or
/// replicas accumulate different numbers of them, `M / A` on each replica and the average over replicas is another number.
pub fn is_plain_mean(plan: &GroupPlan) -> bool {
    let facts = plan.facts();
    let each = facts.accumulated_on(0);
    each > 0
        && (1..plan.replicas).all(|d| facts.accumulated_on(d) == each)
        && facts.microbatches.iter().all(|k| k.supervised > 0)
}

/// How the number that a lane follows arises from the group's sums and counts, written out as far as it stays readable.
pub fn derivation(rule: LaneRule, plan: &GroupPlan, lane: &LaneRow, scale: Option<Scale>) -> Result<String, NoWeight> {
    let value = format::loss(trained_on(rule, plan, lane, scale)?);
    let steps = match rule.convention {
        _ if !rule.spares_gradient() => "Σ w · S / N".to_owned(),
        ConventionId::TokenWeighted | ConventionId::FullBatch => all_by_all(plan, lane),
        ConventionId::MeanOfMeans if is_plain_mean(plan) => means(plan, lane),
        ConventionId::ReplicaTokenMean => replica_means(plan, lane),
        _ => "Σ c · S / D".to_owned(),
    };
    Ok(format!("{steps} = {value}"))
}

/// `(1024 + 6144) / (512 + 1536) = 7168 / 2048`
fn all_by_all(plan: &GroupPlan, lane: &LaneRow) -> String {
    let few = (2..=MEANS_WRITTEN).contains(&plan.microbatches.len()) && lane.loss_sums.len() == plan.microbatches.len();
    if !few {
        return weighted(lane);
    }
    let sums = joined(lane.loss_sums.iter().map(|&sum| format::sum(sum)));
    let counts = joined(plan.microbatches.iter().map(|k| format::count(k.facts.supervised)));
    format!("({sums}) / ({counts}) = {}", weighted(lane))
}

/// `(1024 / 512 + 6144 / 1536) / 2 = (2 + 4) / 2`
fn means(plan: &GroupPlan, lane: &LaneRow) -> String {
    let short = unweighted(plan, lane);
    let scored = plan
        .microbatches
        .iter()
        .zip(&lane.loss_sums)
        .filter(|(k, _)| k.facts.supervised > 0);
    let parts: Vec<String> = scored
        .map(|(k, sum)| format!("{} / {}", format::sum(*sum), format::count(k.facts.supervised)))
        .collect();
    if !(2..=MEANS_WRITTEN).contains(&parts.len()) {
        return short;
    }
    format!("({}) / {} = {short}", parts.join(" + "), parts.len())
}

/// `(320 / 100 + 900 / 300) / 2`, one division a replica.
fn replica_means(plan: &GroupPlan, lane: &LaneRow) -> String {
    let facts = plan.facts();
    let replica = |d: u32| -> f64 {
        let own = facts
            .microbatches
            .iter()
            .zip(&lane.loss_sums)
            .filter(|(k, _)| k.replica == d);
        own.map(|(_, sum)| sum).sum()
    };
    let parts: Vec<String> = (0..plan.replicas)
        .take(MEANS_WRITTEN)
        .map(|d| {
            // A replica without a token adds nothing.
            match facts.supervised_on(d) {
                0 => "0".to_owned(),
                tokens => format!("{} / {}", format::sum(replica(d)), format::count(tokens)),
            }
        })
        .collect();
    let more = if plan.replicas as usize > MEANS_WRITTEN {
        " + …"
    } else {
        ""
    };
    format!("({}{more}) / {}", parts.join(" + "), plan.replicas)
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(" + ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        batch::{Counters, ExampleId, FaultId, Faults, GroupLoss, MicrobatchFacts, MicrobatchPlan},
        protocol::{Outcome, ReplicaSpread},
    };

    /// 512 tokens at 2 and `tokens` at 4, on one replica.
    fn group(tokens: u64) -> (GroupPlan, LaneRow) {
        let microbatch = |index: u32, supervised: u64| MicrobatchPlan {
            ids: vec![ExampleId(index)],
            facts: MicrobatchFacts {
                replica: 0,
                index,
                examples: 1,
                scored_examples: u32::from(supervised > 0),
                supervised,
                positions: supervised.max(1),
                unpadded: supervised.max(1),
            },
            padded: 0,
        };
        let plan = GroupPlan {
            number: 0,
            epoch: 0,
            partial: false,
            replicas: 1,
            nominal_accumulation: 2,
            microbatches: vec![microbatch(0, 512), microbatch(1, tokens)],
        };
        let sums = [1024.0, 4.0 * tokens as f64];
        let lane = LaneRow {
            inner: Vec::new(),
            outcome: Outcome::Applied,
            loss_sums: sums.to_vec(),
            loss: GroupLoss::from_sums([(sums[0], 512), (sums[1], tokens)]),
            logged_loss: f64::NAN,
            gradient_norm: 1.0,
            clip_norms: Vec::new(),
            scale: None,
            batch_norm: None,
            rate: 0.1,
            counters: Counters::default(),
            checksums: None,
            apart: None,
            replicas: ReplicaSpread::InStep,
        };
        (plan, lane)
    }

    #[test]
    fn a_loop_that_goes_wrong_is_told_what_it_trains_on() {
        let (plan, lane) = group(1536);
        let told = |fault| {
            let rule = LaneRule {
                convention: ConventionId::TokenWeighted,
                faults: Faults::NONE.and(fault).unwrap(),
            };
            trained_on(rule, &plan, &lane, None)
        };
        assert_eq!(told(FaultId::SchedulerEachMicrobatch), Ok(3.5));
        // 4 × 1536 / 2048: the first microbatch is cleared away.
        assert_eq!(told(FaultId::ZeroGradBeforeBackward), Ok(3.0));
        assert_eq!(told(FaultId::StepEachMicrobatch), Err(NoWeight::OwnMoves));
    }

    #[test]
    fn what_is_back_propagated_is_told_apart_from_what_is_followed() {
        let (plan, lane) = group(1536);
        let both = |id: ConventionId| {
            let rule = LaneRule::from(id);
            (
                backpropagated(rule, &plan, &lane),
                trained_on(rule, &plan, &lane, None).ok(),
            )
        };
        assert_eq!(both(ConventionId::TokenWeighted), (Some(3.5), Some(3.5)));
        assert_eq!(both(ConventionId::MeanOfMeans), (Some(3.0), Some(3.0)));
        // The second division comes after the backward.
        assert_eq!(both(ConventionId::DividedTwice), (Some(3.0), Some(1.5)));
        // The first microbatch is back-propagated, and then cleared away.
        assert_eq!(both(ConventionId::ZeroGradEachMicrobatch), (Some(3.5), Some(3.0)));
        assert_eq!(both(ConventionId::ExampleMean), (None, None));
        let (plan, lane) = group(0);
        let mean = |id: ConventionId| backpropagated(id.into(), &plan, &lane);
        assert_eq!(mean(ConventionId::TokenWeighted), Some(2.0));
        assert!(
            mean(ConventionId::MeanOfMeans).is_some_and(f64::is_nan),
            "a mean over no token"
        );
    }
}
