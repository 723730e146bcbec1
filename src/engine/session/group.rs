//! A group in progress: which microbatch is next, and how it ends.

use super::report::{Numbers, Slots, answer, ask, group_loss, parameter_distance};
use crate::{
    batch::{Example, ExampleId, GroupFacts, GroupPlan, MicrobatchPlan, PaddedBatch, Pass},
    engine::{
        Device,
        checksum::fnv1a,
        lane::{Attempt, Lane, Reduced},
        memory::Ledger,
        microbatch::Microbatch,
        readback::{Readback, Slot},
    },
    protocol::{CellState, Fault, GroupRow, LaneRow, MicrobatchRow, Outcome, Phase, ReplicaSpread, Watched},
};

/// A group as one kind of lane goes through it.
struct View {
    plan: GroupPlan,
    facts: GroupFacts,
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
    split: View,
    /// The same examples in one pass.
    whole: View,
    dropped: Vec<ExampleId>,
    /// Microbatches done.
    done: usize,
    /// A watched microbatch has had its forward and waits for its backward.
    halfway: bool,
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
    pub(super) fn new(plan: GroupPlan, dropped: Vec<ExampleId>, examples: &[Example]) -> Self {
        let whole = View::new(plan.whole(examples));
        Self {
            split: View::new(plan),
            whole,
            dropped,
            done: 0,
            halfway: false,
        }
    }

    /// Refuses what some lane cannot compute, before anything is computed.
    pub(super) fn refuse(&self, lanes: &[Lane]) -> Result<(), Fault> {
        lanes
            .iter()
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

    /// The microbatch to work on; `None` once all are done, and for a group without a supervised token, of which nothing is computed.
    pub(super) fn next_cell(&self) -> Option<u32> {
        let left = self.split.plan.supervised() > 0 && self.done < self.split.plan.microbatches.len();
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
        let row = |state, lanes| MicrobatchRow {
            group: self.split.plan.number,
            cell,
            state,
            lanes,
        };
        if !self.halfway {
            ledger.begin(Phase::Forward, replica);
            self.forward(device, examples, lanes);
            ledger.end();
            if watch {
                let row = row(CellState::Backward, Vec::new());
                self.halfway = true;
                return Ok(row);
            }
        }
        let mut readback = Readback::default();
        let slots: Vec<WatchSlots> = if watch {
            lanes.iter().map(|lane| self.ask_watched(&mut readback, lane)).collect()
        } else {
            Vec::new()
        };
        ledger.begin(Phase::Backward, replica);
        for lane in &mut *lanes {
            if let Some((plan, facts)) = self.work_of(lane) {
                lane.backward(plan, facts);
                lane.counters.unique_examples = unique;
            }
        }
        ledger.end();
        let values = readback.read().await?;
        let watched = slots.iter().zip(lanes.iter()).map(|(slots, lane)| Watched {
            loss_sum: slots.works.then(|| slots.sum.map_or(0.0, |slot| values.one(slot))),
            checksum: fnv1a(values.of(slots.parameters)),
            counters: lane.counters,
        });
        let row = row(CellState::Done, watched.collect());
        self.halfway = false;
        self.done += 1;
        Ok(row)
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

    fn view(&self, lane: &Lane) -> &View {
        match lane.convention.pass {
            Pass::AsSplit => &self.split,
            Pass::Whole => &self.whole,
        }
    }

    /// What `lane` does on the present microbatch: a lane that takes the whole group in one pass works on the last one only.
    fn work_of(&self, lane: &Lane) -> Option<(&MicrobatchPlan, &GroupFacts)> {
        let view = self.view(lane);
        let plan = match lane.convention.pass {
            Pass::AsSplit => view.plan.microbatches.get(self.done),
            Pass::Whole if self.done + 1 == self.split.plan.microbatches.len() => view.plan.microbatches.first(),
            Pass::Whole => None,
        };
        plan.map(|plan| (plan, &view.facts))
    }

    fn forward(&self, device: &Device, examples: &[Example], lanes: &mut [Lane]) {
        // Each kind of lane has its own padded batch; lanes of one kind share it.
        let mut made: [Option<Microbatch>; 2] = [None, None];
        for lane in lanes {
            let Some((plan, _)) = self.work_of(lane) else { continue };
            let slot = &mut made[usize::from(lane.convention.pass == Pass::Whole)];
            let microbatch = slot.get_or_insert_with(|| Microbatch::new(device, PaddedBatch::of(examples, &plan.ids)));
            lane.numerics.enter_epoch(self.split.plan.epoch);
            lane.forward(plan, microbatch);
        }
    }

    /// Reduces, updates, and reads everything back at once. `unique` is how many different examples the run has met.
    pub(super) async fn end(self, lanes: &mut [Lane], unique: u64, whole: bool) -> Result<GroupRow, Fault> {
        for lane in &mut *lanes {
            lane.counters.unique_examples = unique;
        }
        let rows = if self.plan().supervised() == 0 {
            lanes.iter_mut().map(|lane| self.skip(lane)).collect()
        } else {
            self.update(lanes, whole).await?
        };
        Ok(GroupRow {
            plan: self.split.plan,
            dropped: self.dropped,
            lanes: rows,
            elapsed_ms: 0.0,
            memory: None,
        })
    }

    fn skip(&self, lane: &mut Lane) -> LaneRow {
        let view = self.view(lane);
        view.plan.microbatches.iter().for_each(|plan| lane.count_examples(plan));
        let rate = lane.skip();
        let loss_sums = vec![0.0; view.plan.microbatches.len()];
        LaneRow {
            outcome: Outcome::NoSupervisedToken,
            loss: group_loss(&view.plan, &loss_sums),
            loss_sums,
            // Nothing was computed.
            logged_loss: f64::NAN,
            gradient_norm: f64::NAN,
            clip_norms: Vec::new(),
            scale: None,
            batch_norm: lane.numerics.row(),
            rate,
            counters: lane.counters,
            checksums: None,
            apart: None,
            replicas: ReplicaSpread::InStep,
        }
    }

    async fn update(&self, lanes: &mut [Lane], whole: bool) -> Result<Vec<LaneRow>, Fault> {
        let reduced: Vec<Reduced> = lanes.iter_mut().map(Lane::reduce).collect();
        let attempts: Vec<Attempt> = lanes
            .iter_mut()
            .zip(&reduced)
            .map(|(l, r)| l.attempt(&r.gradient))
            .collect();
        let mut readback = Readback::default();
        let first = || lanes.first().zip(reduced.first());
        let asked = lanes.iter().zip(&reduced).enumerate();
        let slots: Vec<Slots> = asked
            .map(|(i, (lane, reduced))| ask(&mut readback, lane, reduced, first().filter(|_| i > 0), whole))
            .collect();
        let norms: Vec<_> = lanes.iter().map(|lane| lane.numerics.ask(&mut readback)).collect();
        let values = readback.read().await?;
        for (lane, slots) in lanes.iter_mut().zip(norms) {
            lane.numerics.answer(&values, slots);
        }
        let mut numbers: Vec<Numbers> = Vec::new();
        for (slots_of_lane, reduced) in slots.iter().zip(&reduced) {
            let first = slots.first().zip(numbers.first().map(|first| first.gradient_norm));
            numbers.push(answer(&values, slots_of_lane, reduced, first).await?);
        }
        self.settle(lanes, attempts, numbers).await
    }

    /// Takes back what was not finite, and writes the rows.
    async fn settle(
        &self,
        lanes: &mut [Lane],
        attempts: Vec<Attempt>,
        mut numbers: Vec<Numbers>,
    ) -> Result<Vec<LaneRow>, Fault> {
        let rates: Vec<f64> = attempts.iter().map(|attempt| attempt.rate).collect();
        let mut taken_back = false;
        for ((lane, attempt), numbers) in lanes.iter_mut().zip(attempts).zip(&mut numbers) {
            if !numbers.finite {
                lane.take_back(attempt);
                taken_back = true;
                numbers.checksums = numbers.checksums.map(|[first, last, _]| [first, last, last]);
            }
        }
        if taken_back {
            let (first, others) = (lanes.first(), lanes.iter().zip(&mut numbers).skip(1));
            for (lane, numbers) in others {
                if let Some((first, apart)) = first.zip(numbers.apart.as_mut()) {
                    apart.parameter_distance = parameter_distance(lane, first).await?;
                }
            }
        }
        let rows = lanes
            .iter()
            .zip(numbers)
            .zip(rates)
            .map(|((lane, numbers), rate)| LaneRow {
                outcome: if numbers.finite {
                    Outcome::Applied
                } else {
                    Outcome::NonFiniteGradient
                },
                loss: group_loss(&self.view(lane).plan, &numbers.loss_sums),
                loss_sums: numbers.loss_sums,
                logged_loss: f64::NAN,
                gradient_norm: numbers.gradient_norm,
                clip_norms: Vec::new(),
                scale: None,
                batch_norm: lane.numerics.row(),
                rate,
                counters: lane.counters,
                checksums: numbers.checksums,
                apart: numbers.apart,
                replicas: numbers.replicas,
            });
        Ok(rows.collect())
    }
}
