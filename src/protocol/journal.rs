//! The journal of a run: one JSON object a line, the same from the page and from the command line.
//!
//! The first line describes the run; then, group by group, one line for each microbatch of each lane and one for each lane's update.
//! Every count stands under the name of its unit. Numbers that JSON lacks (NaN, infinities) are written as null; checksums, which are
//! larger than JSON's safe integers, as 16 hexadecimal digits. [`JOURNAL_VERSION`] is raised whenever a line changes its meaning.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Apart, DeviceReport, GroupRow, LaneRow, Outcome, ReplicaSpread, RunFacts};
use crate::{
    batch::{ConventionId, Counters, ExampleId, Faults, GroupPlan, LaneRule, Pass, Unit},
    setup::{Draft, Setup, file},
};

/// The format of the lines.
pub const JOURNAL_VERSION: u32 = 1;

/// The first line: the Setup by its keys, what was built of it, and on which device.
pub fn header(setup: &Setup, facts: &RunFacts, device: &DeviceReport) -> String {
    let keys: Value = serde_json::from_str(&file::to_json(&Draft::from(setup))).unwrap_or(Value::Null);
    json!({
        "kind": "run",
        "journal": JOURNAL_VERSION,
        "setup": keys,
        "parameters": facts.parameters,
        "vocabulary": facts.vocabulary,
        "examples": facts.examples,
        "groups_per_epoch": facts.groups_per_epoch,
        "dropped_per_epoch": facts.dropped_per_epoch,
        "device": device,
    })
    .to_string()
}

/// The lines of one ended group. `lanes` are the Setup's, in its order.
pub fn lines(lanes: &[LaneRule], row: &GroupRow) -> Vec<String> {
    let mut lines = Vec::new();
    for (lane, (&rule, numbers)) in lanes.iter().zip(&row.lanes).enumerate() {
        let cells = cells(rule.convention().pass, &row.plan);
        let skipped = numbers.outcome == Outcome::NoSupervisedToken;
        for (cell, &loss_sum) in cells.iter().zip(&numbers.loss_sums).filter(|_| !skipped) {
            lines.push(cell.line(lane, rule, &row.plan, loss_sum));
        }
        lines.push(update(lane, rule, row, numbers));
    }
    lines
}

/// One microbatch as a lane went through it.
struct Cell {
    replica: u32,
    index: u32,
    ids: Vec<ExampleId>,
    supervised: u64,
    positions: u64,
    padded: u64,
}

fn cells(pass: Pass, plan: &GroupPlan) -> Vec<Cell> {
    let split = plan.microbatches.iter().map(|k| Cell {
        replica: k.facts.replica,
        index: k.facts.index,
        ids: k.ids.clone(),
        supervised: k.facts.supervised,
        positions: k.facts.positions,
        padded: k.padded,
    });
    match pass {
        Pass::AsSplit => split.collect(),
        Pass::Whole => vec![whole(split)],
    }
}

/// All examples in one pass: as wide as the widest microbatch, so that everything but their own positions is padding.
fn whole(cells: impl Iterator<Item = Cell>) -> Cell {
    let mut all = Cell {
        replica: 0,
        index: 0,
        ids: Vec::new(),
        supervised: 0,
        positions: 0,
        padded: 0,
    };
    let (mut width, mut real) = (0, 0);
    for cell in cells {
        width = width.max(cell.positions / (cell.ids.len() as u64).max(1));
        real += cell.positions - cell.padded;
        all.supervised += cell.supervised;
        all.ids.extend(cell.ids);
    }
    all.positions = width * all.ids.len() as u64;
    all.padded = all.positions - real;
    all
}

impl Cell {
    fn line(&self, lane: usize, rule: LaneRule, plan: &GroupPlan, loss_sum: f64) -> String {
        json!({
            "kind": "microbatch",
            "lane": lane,
            "convention": rule.convention,
            "faults": rule.faults,
            "group": plan.number,
            "epoch": plan.epoch,
            "replica": self.replica,
            "index": self.index,
            "example_ids": self.ids,
            "loss_sum": loss_sum,
            "supervised_tokens": self.supervised,
            "padded_tokens": self.padded,
            "positions": self.positions,
        })
        .to_string()
    }
}

/// One lane's update, or what became of it.
#[derive(Serialize)]
struct Update<'a> {
    kind: &'static str,
    lane: usize,
    convention: ConventionId,
    faults: Faults,
    group: u64,
    epoch: u32,
    partial: bool,
    outcome: &'static str,
    loss_sum: f64,
    loss_supervised_tokens: u64,
    loss_token_weighted: Option<f64>,
    sum_of_microbatch_means: f64,
    microbatch_means: u64,
    loss_mean_of_means: Option<f64>,
    gradient_norm: f64,
    learning_rate: f64,
    #[serde(flatten)]
    counts: Map<String, Value>,
    parameter_checksums: Option<[String; 3]>,
    apart_from_first_lane: Option<&'a Apart>,
    replicas_in_step: bool,
    /// Of one parameter between two replicas, where they compute apart.
    largest_replica_difference: Option<f64>,
    dropped_example_ids: &'a [ExampleId],
    elapsed_ms: f64,
}

fn update(lane: usize, rule: LaneRule, row: &GroupRow, numbers: &LaneRow) -> String {
    let parted = match numbers.replicas {
        ReplicaSpread::InStep => None,
        ReplicaSpread::Parted { largest } => Some(largest),
    };
    let update = Update {
        kind: "update",
        lane,
        convention: rule.convention,
        faults: rule.faults,
        group: row.plan.number,
        epoch: row.plan.epoch,
        partial: row.plan.partial,
        outcome: match numbers.outcome {
            Outcome::Applied => "applied",
            Outcome::NoSupervisedToken => "no_supervised_token",
            Outcome::NonFiniteGradient => "non_finite_gradient",
            Outcome::Refused(_) => "refused",
            Outcome::Dropped => "dropped",
            Outcome::Carried => "carried",
        },
        loss_sum: numbers.loss.loss_sum,
        loss_supervised_tokens: numbers.loss.supervised,
        loss_token_weighted: numbers.loss.token_weighted(),
        sum_of_microbatch_means: numbers.loss.sum_of_means,
        microbatch_means: numbers.loss.means,
        loss_mean_of_means: numbers.loss.mean_of_means(),
        gradient_norm: numbers.gradient_norm,
        learning_rate: numbers.rate,
        counts: counts(&numbers.counters),
        parameter_checksums: numbers.checksums.map(|sums| sums.map(|sum| format!("{sum:016x}"))),
        apart_from_first_lane: numbers.apart.as_ref(),
        replicas_in_step: parted.is_none_or(|largest| largest == 0.0),
        largest_replica_difference: parted,
        dropped_example_ids: &row.dropped,
        elapsed_ms: row.elapsed_ms,
    };
    json!(update).to_string()
}

/// Every count under the name of its unit.
fn counts(counters: &Counters) -> Map<String, Value> {
    let named = Unit::ALL.iter().filter_map(|&unit| match json!(unit) {
        Value::String(name) => Some((name, json!(counters.get(unit)))),
        _ => None,
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        batch::{GroupLoss, MicrobatchFacts, MicrobatchPlan},
        setup::parse::parse,
    };

    fn microbatch(replica: u32, ids: &[u32], supervised: u64, width: u64, padded: u64) -> MicrobatchPlan {
        let examples = u32::try_from(ids.len()).unwrap();
        MicrobatchPlan {
            ids: ids.iter().copied().map(ExampleId).collect(),
            facts: MicrobatchFacts {
                replica,
                index: 0,
                examples,
                scored_examples: examples,
                supervised,
                positions: width * u64::from(examples),
                unpadded: width * u64::from(examples) - padded,
            },
            padded,
        }
    }

    fn row() -> GroupRow {
        let lane = |loss_sums: Vec<f64>, counts: &[u64]| LaneRow {
            outcome: Outcome::Applied,
            loss: GroupLoss::from_sums(loss_sums.iter().copied().zip(counts.iter().copied())),
            loss_sums,
            logged_loss: 3.5,
            gradient_norm: f64::NAN,
            clip_norms: Vec::new(),
            scale: None,
            batch_norm: None,
            rate: 0.1,
            counters: Counters {
                microbatches: 2,
                supervised_tokens: 2048,
                ..Counters::default()
            },
            checksums: Some([u64::MAX, 1, 2]),
            apart: None,
            replicas: ReplicaSpread::InStep,
        };
        GroupRow {
            plan: GroupPlan {
                number: 3,
                epoch: 1,
                partial: true,
                replicas: 2,
                nominal_accumulation: 1,
                microbatches: vec![microbatch(0, &[4, 5], 512, 300, 88), microbatch(1, &[6], 1536, 1536, 0)],
            },
            dropped: vec![ExampleId(9)],
            lanes: vec![lane(vec![1024.0, 6144.0], &[512, 1536]), lane(vec![7168.0], &[2048])],
            elapsed_ms: 1.5,
            memory: None,
        }
    }

    #[test]
    fn a_group_gives_one_line_for_each_microbatch_and_update_of_each_lane() {
        let lines = lines(
            &[ConventionId::TokenWeighted.into(), ConventionId::FullBatch.into()],
            &row(),
        );
        let lines: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let kinds: Vec<&str> = lines.iter().map(|line| line["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["microbatch", "microbatch", "update", "microbatch", "update"]);
        assert_eq!(lines[1]["example_ids"], json!([6]));
        assert_eq!(lines[1]["loss_sum"], json!(6144.0));
        let update = &lines[2];
        assert_eq!(
            (&update["loss_token_weighted"], &update["loss_mean_of_means"]),
            (&json!(3.5), &json!(3.0))
        );
        assert_eq!(update["gradient_norm"], Value::Null, "JSON has no NaN");
        assert_eq!(update["parameter_checksums"][0], json!("ffffffffffffffff"));
        assert_eq!(
            (&update["supervised_tokens"], &update["unique_examples"]),
            (&json!(2048), &json!(0))
        );
        assert_eq!(update["dropped_example_ids"], json!([9]));
        let whole = &lines[3];
        assert_eq!(whole["example_ids"], json!([4, 5, 6]));
        assert_eq!(
            (&whole["positions"], &whole["padded_tokens"]),
            (&json!(3 * 1536), &json!(3 * 1536 - 2048))
        );
    }

    #[test]
    fn a_group_without_supervised_tokens_has_updates_only() {
        let mut row = row();
        row.lanes
            .iter_mut()
            .for_each(|lane| lane.outcome = Outcome::NoSupervisedToken);
        let lines = lines(
            &[ConventionId::TokenWeighted.into(), ConventionId::FullBatch.into()],
            &row,
        );
        assert!(lines.iter().all(|line| line.contains("no_supervised_token")));
        assert_eq!(lines.len(), 2);
    }

    #[test]
    fn the_header_holds_the_setup_by_its_keys() {
        let setup = parse(&Draft::default()).unwrap();
        let facts = RunFacts {
            parameters: 7,
            vocabulary: 3,
            examples: 40,
            groups_per_epoch: 2,
            dropped_per_epoch: 0,
            dropped: Vec::new(),
            repeated_per_epoch: 0,
            memory: None,
        };
        let device = DeviceReport {
            kind: "cpu".to_owned(),
            adapter: None,
            open_ms: 0.1,
        };
        let line: Value = serde_json::from_str(&header(&setup, &facts, &device)).unwrap();
        assert_eq!(line["journal"], json!(JOURNAL_VERSION));
        let again = file::from_json(&line["setup"].to_string()).unwrap();
        assert_eq!(parse(&again).unwrap(), setup);
    }
}
