//! A group in progress: which microbatch is next, and who works on it.

use super::ending::Early;
use crate::{
    batch::{Example, ExampleId, GroupFacts, GroupPlan, MicrobatchPlan, PaddedBatch, Pass},
    engine::{
        Device,
        checksum::fnv1a,
        lane::Lane,
        memory::Ledger,
        microbatch::Microbatch,
        program::Recorded,
        readback::{Readback, Slot},
    },
    protocol::{CellState, Fault, MicrobatchRow, Phase, Watched},
};

/// A group as one kind of lane goes through it.
pub(super) struct View {
    pub(super) plan: GroupPlan,
    pub(super) facts: GroupFacts,
}

impl View {
    fn new(plan: GroupPlan) -> Self {
        Self {
            facts: plan.facts(),
            plan,
        }
    }
}

/// A group between [`super::Advance::Began`] and [`super::Advance::Updated`].
pub(super) struct Group {
    pub(super) split: View,
    /// The same examples in one pass.
    whole: View,
    pub(super) dropped: Vec<ExampleId>,
    /// What each lane's updates inside the group came to.
    pub(super) early: Vec<Early>,
    /// Whether its microbatches are gone through.
    pub(super) worked_on: bool,
    /// Microbatches done.
    done: usize,
    /// A watched microbatch has had its forward and waits for its backward.
    halfway: bool,
    /// The microbatches, where they were sent to the device in one piece.
    uploaded: Vec<Microbatch>,
}

/// What a watched lane's numbers are read from.
struct WatchSlots {
    /// `None` where nothing is scored.
    sum: Option<Slot>,
    /// Whether the lane works on this microbatch at all.
    works: bool,
    parameters: Slot,
}

impl Group {
    pub(super) fn new(plan: GroupPlan, dropped: Vec<ExampleId>, examples: &[Example], lanes: &mut [Lane]) -> Self {
        for lane in &mut *lanes {
            lane.begin(&plan);
        }
        let whole = View::new(plan.whole(examples));
        let worked_on = plan.supervised() > 0 || lanes.iter().any(|lane| lane.works_on(&plan));
        Self {
            worked_on,
            split: View::new(plan),
            whole,
            dropped,
            early: lanes.iter().map(|_| Early::default()).collect(),
            done: 0,
            halfway: false,
            uploaded: Vec::new(),
        }
    }

    /// Refuses what some lane cannot compute, before anything is computed.
    pub(super) fn refuse(&self, lanes: &[Lane]) -> Result<(), Fault> {
        lanes
            .iter()
            .filter(|lane| lane.works_on(self.plan()))
            .try_for_each(|lane| lane.numerics.refuse(&self.view(lane).plan))
    }

    pub(super) fn plan(&self) -> &GroupPlan {
        &self.split.plan
    }

    /// Who is in one microbatch.
    pub(super) fn ids_of(&self, cell: u32) -> &[ExampleId] {
        let cell = usize::try_from(cell).ok();
        cell.and_then(|cell| self.split.plan.microbatches.get(cell))
            .map_or(&[], |k| &k.ids)
    }

    /// The microbatch to work on; `None` once all are done, and for a group without a supervised
    /// token that no lane works on.
    pub(super) fn next_cell(&self) -> Option<u32> {
        let left = self.worked_on && self.done < self.split.plan.microbatches.len();
        left.then(|| u32::try_from(self.done).ok()).flatten()
    }

    /// A forward, a backward, or both, of the next microbatch in every lane. `unique` is how many different examples the run has met by then.
    pub(super) async fn work_on(
        &mut self,
        device: &Device,
        examples: &[Example],
        lanes: &mut [Lane],
        ledger: &mut Ledger,
        watch: bool,
        unique: u64,
    ) -> Result<MicrobatchRow, Fault> {
        let cell = u32::try_from(self.done).unwrap_or(u32::MAX);
        let replica = self.split.plan.microbatches.get(self.done).map(|k| k.facts.replica);
        if !self.halfway {
            ledger.begin(Phase::Forward, replica);
            self.upload(device, examples, lanes);
            self.forward(device, examples, lanes);
            ledger.end();
            if watch {
                self.halfway = true;
                return Ok(self.cell_row(cell, CellState::Backward, Vec::new()));
            }
        }
        let mut readback = Readback::default();
        let slots: Vec<WatchSlots> = if watch {
            lanes.iter().map(|lane| self.ask_watched(&mut readback, lane)).collect()
        } else {
            Vec::new()
        };
        ledger.begin(Phase::Backward, replica);
        let mut stepping = Vec::new();
        for (index, lane) in lanes.iter_mut().enumerate() {
            if let Some((plan, facts)) = self.work_of(lane) {
                if lane.backward(plan, facts) {
                    stepping.push(index);
                }
                lane.counters.unique_examples = unique;
            }
        }
        ledger.end();
        let values = readback.read().await?;
        self.step_inside(lanes, &stepping).await?;
        let watched = slots.iter().zip(lanes.iter()).map(|(slots, lane)| Watched {
            loss_sum: slots.works.then(|| slots.sum.map_or(0.0, |slot| values.one(slot))),
            checksum: fnv1a(values.of(slots.parameters)),
            counters: lane.counters,
        });
        let row = self.cell_row(cell, CellState::Done, watched.collect());
        self.halfway = false;
        self.done += 1;
        Ok(row)
    }

    fn cell_row(&self, cell: u32, state: CellState, lanes: Vec<Watched>) -> MicrobatchRow {
        MicrobatchRow {
            group: self.split.plan.number,
            cell,
            state,
            lanes,
        }
    }

    fn ask_watched(&self, readback: &mut Readback, lane: &Lane) -> WatchSlots {
        let work = self.work_of(lane);
        let replica = work.map_or(0, |(plan, _)| plan.facts.replica);
        WatchSlots {
            sum: lane.waiting_sum().map(|sum| readback.add(sum)),
            works: work.is_some(),
            parameters: readback.add(lane.parameters(replica)),
        }
    }

    pub(super) fn view(&self, lane: &Lane) -> &View {
        match lane.convention.pass {
            Pass::AsSplit => &self.split,
            Pass::Whole => &self.whole,
        }
    }

    /// What `lane` does on the present microbatch: a lane that takes the whole group in one pass works on the last one only, one that
    /// leaves the group out on none.
    pub(super) fn work_of(&self, lane: &Lane) -> Option<(&MicrobatchPlan, &GroupFacts)> {
        let view = self.view(lane);
        if !lane.works_on(&view.plan) {
            return None;
        }
        let plan = match lane.convention.pass {
            Pass::AsSplit => view.plan.microbatches.get(self.done),
            Pass::Whole if self.done + 1 == self.split.plan.microbatches.len() => view.plan.microbatches.first(),
            Pass::Whole => None,
        };
        plan.map(|plan| (plan, &view.facts))
    }

    /// Sends all microbatches ahead of the first, where the device likes that and a lane works on them.
    fn upload(&mut self, device: &Device, examples: &[Example], lanes: &[Lane]) {
        let worked_on = lanes.iter().any(|lane| lane.convention.pass == Pass::AsSplit);
        if self.done == 0 && worked_on {
            let batches = self.split.plan.microbatches.iter();
            let batches = batches.map(|k| PaddedBatch::of(examples, &k.ids));
            self.uploaded = Recorded::uploaded(device, batches).unwrap_or_default();
        }
    }

    fn forward(&self, device: &Device, examples: &[Example], lanes: &mut [Lane]) {
        // Each kind of lane has its own padded batch; lanes of one kind share it.
        let mut made: [Option<Microbatch>; 2] = [None, None];
        for lane in lanes {
            let Some((plan, facts)) = self.work_of(lane) else {
                continue;
            };
            let ahead = self.uploaded.get(self.done);
            let microbatch = match ahead.filter(|_| lane.convention.pass == Pass::AsSplit) {
                Some(ahead) => ahead,
                None => made[usize::from(lane.convention.pass == Pass::Whole)]
                    .get_or_insert_with(|| Microbatch::new(device, PaddedBatch::of(examples, &plan.ids))),
            };
            lane.numerics.enter_epoch(self.split.plan.epoch);
            lane.forward(plan, facts, microbatch);
        }
    }
}
