//! The group being worked on as a D x A table of texts.

use crate::{
    batch::Pass,
    lab::{Lab, Progress, Recording, Repeats, cells, recording::CurrentGroup},
    protocol::{LaneRow, Outcome},
    ui::format,
};

/// The most rows and columns that are drawn.
pub const MAX_ROWS: u32 = 8;
/// Columns beside them.
pub const MAX_COLUMNS: u32 = 16;
/// So many example IDs are written into a cell.
const IDS_WRITTEN: usize = 8;

/// The whole table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupView {
    /// The group's number, from 1.
    pub number: u64,
    /// Its epoch, from 1.
    pub epoch: u32,
    /// Whether it is smaller than m x A x D.
    pub partial: bool,
    /// D.
    pub replicas: u32,
    /// A.
    pub accumulation: u32,
    /// N.
    pub supervised: u64,
    /// How it ended in the lane looked at, once it has.
    pub ended: Option<Ended>,
    /// Places, different examples, and those of them in more than one place.
    pub members: [u64; 3],
    /// Microbatches that are drawn, of how many.
    pub shown: (u64, u64),
    /// `cells[d * columns + a]`, for the drawn part.
    cells: Vec<Option<CellView>>,
    /// Columns drawn.
    pub columns: u32,
    /// Rows drawn.
    pub rows: u32,
}

/// How a group ended, all of its attempts at an update considered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Why the newest of those changed nothing that did; [`Outcome::Applied`] if there is none.
    pub outcome: Outcome,
    /// How many changed nothing.
    pub changed_nothing: u64,
    /// Of how many.
    pub attempts: u64,
}

impl Ended {
    fn of(row: &LaneRow) -> Self {
        Self {
            outcome: row.changed_nothing().last().unwrap_or(Outcome::Applied),
            changed_nothing: row.changed_nothing().count() as u64,
            attempts: row.attempts() as u64,
        }
    }
}

/// One microbatch on one replica.
#[derive(Clone, Debug, PartialEq)]
pub struct CellView {
    /// How far it got in the lane looked at.
    pub state: Progress,
    /// Its example IDs; those that stand in more than one place of the group have a mark.
    pub ids: String,
    /// n.
    pub supervised: u64,
    /// Padding.
    pub padded: u64,
    /// Positions that are neither: context.
    pub context: u64,
    /// Its positions as a share of the widest microbatch of the group.
    pub share: f64,
    /// Mean loss over its supervised tokens in the lane looked at.
    pub loss: Option<f64>,
}

impl GroupView {
    /// The group being worked on, with the states and losses of `lane`; `None` before the first.
    pub fn of(lab: &Lab, lane: usize) -> Option<Self> {
        let recording = lab.recording.as_ref()?;
        let current = recording.current.as_ref()?;
        let plan = &current.plan;
        let (replicas, accumulation) = (plan.replicas, plan.nominal_accumulation);
        let (rows, columns) = (replicas.min(MAX_ROWS), accumulation.min(MAX_COLUMNS));
        let repeats = Repeats::of(plan);
        let ended = current.ended.and_then(|group| recording.groups.get(group));
        let mut view = Self {
            number: plan.number + 1,
            epoch: plan.epoch + 1,
            partial: plan.partial,
            replicas,
            accumulation,
            supervised: plan.supervised(),
            ended: ended.and_then(|row| row.lanes.get(lane)).map(Ended::of),
            members: [repeats.places, repeats.unique, repeats.repeated.len() as u64],
            shown: (0, plan.microbatches.len() as u64),
            cells: vec![None; usize::try_from(rows * columns).unwrap_or(0)],
            columns,
            rows,
        };
        let widest = plan
            .microbatches
            .iter()
            .map(|k| k.facts.positions)
            .max()
            .unwrap_or(1)
            .max(1);
        for (at, k) in plan.microbatches.iter().enumerate() {
            if k.facts.replica >= rows || k.facts.index >= columns {
                continue;
            }
            let ids = k.ids.iter().map(|id| {
                let mark = if repeats.repeated.contains(id) { "↻" } else { "" };
                format!("{mark}{}", id.0)
            });
            let cell = CellView {
                state: cells::progress(recording, current, lane, at).unwrap_or(Progress::Waiting),
                ids: write_ids(ids),
                supervised: k.facts.supervised,
                padded: k.padded,
                context: k.facts.positions.saturating_sub(k.padded + k.facts.supervised),
                share: k.facts.positions as f64 / widest as f64,
                loss: loss(recording, current, lane, at),
            };
            let slot = usize::try_from(k.facts.replica * columns + k.facts.index).ok();
            if let Some(slot) = slot.and_then(|slot| view.cells.get_mut(slot)) {
                *slot = Some(cell);
                view.shown.0 += 1;
            }
        }
        Some(view)
    }

    /// The microbatch number `index` of `replica`, where the group has it.
    pub fn cell(&self, replica: u32, index: u32) -> Option<&CellView> {
        let at = usize::try_from(replica * self.columns + index).ok()?;
        self.cells.get(at)?.as_ref()
    }
}

/// A microbatch's mean loss: from the ended group, else from what was watched.
fn loss(recording: &Recording, current: &CurrentGroup, lane: usize, at: usize) -> Option<f64> {
    let supervised = current.plan.microbatches.get(at)?.facts.supervised;
    let rule = *recording.setup.lanes.get(lane)?;
    if supervised == 0 || rule.convention().pass == Pass::Whole {
        return None;
    }
    let ended = current.ended.and_then(|group| recording.groups.get(group));
    let sum = match ended {
        Some(row) => row.lanes.get(lane)?.loss_sums.get(at).copied(),
        None => current.rows.get(at)?.as_ref()?.lanes.get(lane)?.loss_sum,
    };
    sum.map(|sum| sum / supervised as f64)
}

/// The first few IDs, and how many more there are.
pub fn write_ids(ids: impl ExactSizeIterator<Item = String>) -> String {
    let more = ids.len().saturating_sub(IDS_WRITTEN);
    let mut text = ids.take(IDS_WRITTEN).collect::<Vec<_>>().join(" ");
    if more > 0 {
        text.push_str(" +");
        text.push_str(&format::count(more as u64));
    }
    text
}
