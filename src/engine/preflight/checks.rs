//! What was seen against what must be seen.

use std::collections::BTreeSet;

use super::evidence::{Evidence, GroupEvidence};
use crate::{
    batch::{ExampleId, GroupPlan, LaneRule, Pass, oracle::relative_l2},
    protocol::{CheckKind, LaneRow, Outcome, PreflightCheck, ReplicaSpread},
};

/// Room for a GPU's fast tanh and exp, as in the check of a device; a wrong kernel misses it by far.
pub(super) const ORACLE_TOLERANCE: f64 = 1e-4;

/// The denominator is f64 arithmetic on counts.
const DENOMINATOR_TOLERANCE: f64 = 1e-9;

/// What every lane works on, and all of it. `views` are the group as each lane goes through it.
pub(super) fn same_examples(group: &GroupEvidence<'_>, views: &[GroupPlan], lanes: &[Evidence]) -> PreflightCheck {
    let worked_on = |(view, lane): (&GroupPlan, &Evidence)| -> BTreeSet<ExampleId> {
        let computed = |row: &LaneRow| !matches!(row.outcome, Outcome::Dropped | Outcome::NoSupervisedToken);
        let ids = view.microbatches.iter().flat_map(|k| k.ids.iter().copied());
        ids.filter(|_| lane.row.as_ref().is_some_and(computed)).collect()
    };
    let common = views
        .iter()
        .zip(lanes)
        .map(worked_on)
        .reduce(|common, ids| common.intersection(&ids).copied().collect())
        .unwrap_or_default();
    exactly(
        CheckKind::SameExamples,
        None,
        common.len() as f64,
        group.examples as f64,
    )
}

/// One lane, in the order of the recipe. `oracle` is what a right loop gives its optimizer under the lane's convention.
pub(super) fn of_lane(
    group: &GroupEvidence<'_>,
    index: u32,
    rule: LaneRule,
    view: &GroupPlan,
    seen: &Evidence,
    oracle: Option<&[f64]>,
) -> Vec<PreflightCheck> {
    let Some(row) = &seen.row else { return Vec::new() };
    let lane = Some(index);
    let exactly = |kind, measured: f64, expected: f64| exactly(kind, lane, measured, expected);
    let tokens = view.supervised() as f64;
    let counters = row.counters;
    let between = counters.microbatches as f64 / counters.update_attempts as f64;
    let mut checks = vec![
        within(
            CheckKind::Denominator,
            lane,
            denominator(rule, view),
            tokens,
            tokens * DENOMINATOR_TOLERANCE,
        ),
        exactly(CheckKind::FiniteGradients, not_finite(&seen.gradients), 0.0),
        exactly(CheckKind::GroupBoundary, between, view.microbatches.len() as f64),
        exactly(CheckKind::ParametersStandStill, seen.moved_bytes as f64, 0.0),
        exactly(CheckKind::AppliedUpdates, counters.applied_updates as f64, 1.0),
        exactly(CheckKind::Examples, counters.examples as f64, view.examples() as f64),
        exactly(CheckKind::SupervisedTokens, counters.supervised_tokens as f64, tokens),
        within(
            CheckKind::FullBatchAgreement,
            lane,
            furthest(&seen.gradients, group.full),
            0.0,
            group.tolerance,
        ),
    ];
    if let Some(oracle) = oracle {
        let off = furthest(&seen.gradients, oracle);
        checks.push(within(CheckKind::OracleAgreement, lane, off, 0.0, ORACLE_TOLERANCE));
    }
    if rule.convention().pass == Pass::AsSplit && view.replicas > 1 {
        let spread = match row.replicas {
            ReplicaSpread::InStep => 0.0,
            ReplicaSpread::Parted { largest } => largest,
        };
        checks.push(exactly(CheckKind::ReplicasInStep, spread, 0.0));
        checks.push(exactly(CheckKind::AllReduces, counters.all_reduces as f64, 1.0));
    }
    checks
}

fn exactly(kind: CheckKind, lane: Option<u32>, measured: f64, expected: f64) -> PreflightCheck {
    within(kind, lane, measured, expected, 0.0)
}

/// What is not a number passes nothing.
pub(super) fn within(
    kind: CheckKind,
    lane: Option<u32>,
    measured: f64,
    expected: f64,
    tolerance: f64,
) -> PreflightCheck {
    PreflightCheck {
        kind,
        lane,
        measured,
        expected,
        tolerance,
        passed: (measured - expected).abs() <= tolerance,
    }
}

/// What the convention divides a microbatch's loss sum by, mean over replicas included: of all microbatches with anything to learn, the
/// one furthest from N. Infinite where a microbatch does not count at all; NaN where there is nothing to learn.
fn denominator(rule: LaneRule, view: &GroupPlan) -> f64 {
    let (facts, tokens) = (view.facts(), view.supervised() as f64);
    let of = |k| f64::from(facts.replicas) / rule.convention().coefficient(&facts, k);
    let all = facts.microbatches.iter().filter(|k| k.supervised > 0).map(of);
    let further = |a: f64, b: f64| if (b - tokens).abs() > (a - tokens).abs() { b } else { a };
    all.reduce(further).unwrap_or(f64::NAN)
}

/// Elements that are not finite; NaN where there is no gradient.
fn not_finite(gradients: &[Vec<f64>]) -> f64 {
    if gradients.is_empty() {
        return f64::NAN;
    }
    let elements = gradients.iter().flatten();
    elements.filter(|g| !g.is_finite()).count() as f64
}

/// The largest relative L2 of any replica's gradient; NaN where there is none, or one is not a number.
pub(super) fn furthest(gradients: &[Vec<f64>], reference: &[f64]) -> f64 {
    let off = |gradient: &Vec<f64>| {
        if gradient.len() == reference.len() {
            relative_l2(gradient, reference)
        } else {
            f64::NAN
        }
    };
    let worse = |a: f64, b: f64| if a.is_nan() || a > b { a } else { b };
    gradients.iter().map(off).reduce(worse).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_number_passes_nothing() {
        let of = |measured, expected| within(CheckKind::OracleAgreement, None, measured, expected, 1.0).passed;
        assert!(of(1.0, 2.0) && !of(1.0, 2.1));
        assert!(!of(f64::NAN, 0.0) && !of(f64::INFINITY, 0.0) && !of(f64::INFINITY, f64::INFINITY));
        assert!(not_finite(&[]).is_nan() && furthest(&[], &[1.0]).is_nan());
        let two = not_finite(&[vec![1.0, f64::NAN], vec![f64::INFINITY, 0.0]]);
        assert!((two - 2.0).abs() < f64::EPSILON);
        assert!(furthest(&[vec![1.0], vec![f64::NAN]], &[1.0]).is_nan());
        assert!(furthest(&[vec![f64::NAN], vec![1.0]], &[1.0]).is_nan());
        assert!((furthest(&[vec![1.0], vec![3.0]], &[1.0]) - 2.0).abs() < f64::EPSILON);
        assert!(furthest(&[vec![1.0, 2.0]], &[1.0]).is_nan());
    }
}
