//! One line for each microbatch of a lane, whatever became of its group.

use serde_json::json;

use super::Place;
use crate::{
    batch::{ExampleId, GroupPlan, Pass},
    protocol::{LaneRow, Outcome},
};

/// One microbatch as a lane went through it.
struct Cell {
    replica: u32,
    index: u32,
    ids: Vec<ExampleId>,
    supervised: u64,
    positions: u64,
    padded: u64,
}

pub(super) fn lines(place: Place<'_>, numbers: &LaneRow) -> Vec<String> {
    // A group that was left out has its examples all the same; what was not computed has no loss.
    let computed = !matches!(numbers.outcome, Outcome::NoSupervisedToken | Outcome::Dropped);
    let cells = cells(place.rule.convention().pass, &place.row.plan);
    let line = |(at, cell): (usize, Cell)| {
        let loss_sum = numbers.loss_sums.get(at).copied().filter(|_| computed);
        cell.line(place, computed, loss_sum)
    };
    cells.into_iter().enumerate().map(line).collect()
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
    fn line(&self, place: Place<'_>, computed: bool, loss_sum: Option<f64>) -> String {
        json!({
            "kind": "microbatch",
            "lane": place.lane,
            "convention": place.rule.convention,
            "faults": place.rule.faults,
            "group": place.row.plan.number,
            "epoch": place.row.plan.epoch,
            "replica": self.replica,
            "index": self.index,
            "example_ids": self.ids,
            "computed": computed,
            "loss_sum": loss_sum,
            "supervised_tokens": self.supervised,
            "padded_tokens": self.padded,
            "positions": self.positions,
        })
        .to_string()
    }
}
