//! One line for each all-reduce of a lane in a group, or one that says there was none.

use serde_json::json;

use super::Place;
use crate::batch::{Counters, GroupPlan, LaneRule};

/// How many there were and how many bytes they took is the difference of the counters; after which microbatch each came is the rule
/// of the lane's loop, told only where rule and count agree.
pub(super) fn lines(place: Place<'_>, before: &Counters, after: &Counters) -> Vec<String> {
    let count = after.all_reduces.saturating_sub(before.all_reduces);
    let bytes = after.all_reduced_bytes.saturating_sub(before.all_reduced_bytes);
    if count == 0 {
        return vec![line(place, false, None, 0)];
    }
    let places = places(place.rule, &place.row.plan);
    let told = places.len() as u64 == count;
    // All parameters go into each, so all take the same.
    let each = bytes / count;
    (0..count)
        .map(|at| {
            let index = usize::try_from(at).ok().and_then(|at| places.get(at)).copied();
            line(place, true, index.filter(|_| told), each)
        })
        .collect()
}

/// The accumulation indices whose backward exchanges gradients.
fn places(rule: LaneRule, plan: &GroupPlan) -> Vec<u32> {
    let recipe = rule.recipe();
    let accumulation = plan.microbatches.iter().map(|k| k.facts.index + 1).max().unwrap_or(0);
    (0..accumulation)
        .filter(|&index| recipe.exchanges_after(index, accumulation))
        .collect()
}

fn line(place: Place<'_>, reduced: bool, after_index: Option<u32>, bytes: u64) -> String {
    json!({
        "kind": "reduction",
        "lane": place.lane,
        "convention": place.rule.convention,
        "faults": place.rule.faults,
        "group": place.row.plan.number,
        "epoch": place.row.plan.epoch,
        "reduced": reduced,
        "after_index": after_index,
        "bytes": bytes,
    })
    .to_string()
}
