//! How a group ends: updates on the device, one readback, what is taken back, and the rows.

use super::{
    group::Group,
    report::{Numbers, Slots, answer, ask, group_loss, parameter_distance, squared_norm, summed_norm},
};
use crate::{
    batch::logged::logged_loss,
    engine::{
        checksum::fnv1a,
        lane::Lane,
        readback::{Readback, read},
        update::{Ending, Reduced},
    },
    protocol::{AttemptRow, Fault, GroupRow, LaneRow, Outcome, ReplicaSpread},
};

/// What a lane's updates inside a group came to, where its loop makes any.
#[derive(Default)]
pub(super) struct Early {
    attempts: Vec<AttemptRow>,
    /// Norms of its clip that they account for.
    norms: usize,
}

impl Early {
    fn applied(&self) -> bool {
        self.attempts.iter().any(|attempt| attempt.outcome == Outcome::Applied)
    }
}

/// How a group's last attempt ended in one lane, all known.
struct Settled {
    outcome: Outcome,
    taken_back: bool,
    rate: f64,
    scale: Option<f64>,
}

impl Group {
    /// The updates that some lanes make inside the group. Whether they stand must be known before the next forward, so each waits for
    /// the device.
    pub(super) async fn step_inside(&mut self, lanes: &mut [Lane], stepping: &[usize]) -> Result<(), Fault> {
        for &index in stepping {
            let Some(lane) = lanes.get_mut(index) else { continue };
            let after_index = self.work_of(lane).map_or(0, |(plan, _)| plan.facts.index);
            let (gradients, attempt) = lane.step_inside(&self.view(lane).facts);
            let Some(early) = self.early.get_mut(index) else {
                continue;
            };
            let mut readback = Readback::default();
            let slots: Vec<_> = gradients.iter().map(|g| readback.add(&squared_norm(g))).collect();
            let seen = lane.group.norms.iter().skip(early.norms);
            let clips: Vec<_> = seen.map(|norm| readback.add(norm)).collect();
            let values = readback.read().await?;
            let (mut finite, mut gradient_norm) = (true, None);
            for (slot, gradient) in slots.into_iter().zip(&gradients) {
                let (norm, all_finite) = summed_norm(values.one(slot), gradient).await?;
                gradient_norm.get_or_insert(norm);
                finite &= all_finite;
            }
            let (rate, scale) = (attempt.rate, attempt.scale);
            let outcome = lane.settle(attempt, finite);
            lane.note_counts();
            early.norms += clips.len();
            early.attempts.push(AttemptRow {
                after_index,
                outcome,
                gradient_norm: gradient_norm.unwrap_or(f64::NAN),
                clip_norms: clips.into_iter().map(|slot| values.one(slot)).collect(),
                scale: lane.scale_row(scale),
                rate,
                counters: lane.counters,
            });
        }
        Ok(())
    }

    /// Reduces, updates, and reads everything back at once. `unique` is how many different examples the run has met.
    pub(super) async fn end(self, lanes: &mut [Lane], unique: u64, whole: bool) -> Result<GroupRow, Fault> {
        for lane in &mut *lanes {
            lane.counters.unique_examples = unique;
        }
        let rows = if self.worked_on {
            self.update(lanes, whole).await?
        } else {
            lanes.iter_mut().map(|lane| self.skip(lane)).collect()
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
        let outcome = lane.skip(&self.view(lane).plan);
        self.skipped_row(lane, outcome)
    }

    fn skipped_row(&self, lane: &Lane, outcome: Outcome) -> LaneRow {
        let view = self.view(lane);
        let loss_sums = vec![0.0; view.plan.microbatches.len()];
        LaneRow {
            inner: Vec::new(),
            outcome,
            loss: group_loss(&view.plan, &loss_sums),
            loss_sums,
            // Nothing was computed.
            logged_loss: f64::NAN,
            gradient_norm: f64::NAN,
            clip_norms: Vec::new(),
            scale: lane.scale_row(None),
            batch_norm: lane.numerics.row(),
            rate: lane.rate(view.facts.accumulation()),
            counters: lane.counters,
            checksums: None,
            apart: None,
            replicas: ReplicaSpread::InStep,
        }
    }

    async fn update(&self, lanes: &mut [Lane], whole: bool) -> Result<Vec<LaneRow>, Fault> {
        let (reduced, endings): (Vec<Reduced>, Vec<Ending>) = lanes
            .iter_mut()
            .map(|lane| {
                let view = self.view(lane);
                lane.end(&view.plan, &view.facts)
            })
            .unzip();
        let mut readback = Readback::default();
        let first = || lanes.first().zip(reduced.first());
        let asked = lanes.iter().zip(&reduced).enumerate();
        let slots: Vec<Slots> = asked
            .map(|(i, (lane, reduced))| ask(&mut readback, lane, reduced, first().filter(|_| i > 0), whole))
            .collect();
        let statistics: Vec<_> = lanes.iter().map(|lane| lane.numerics.ask(&mut readback)).collect();
        let values = readback.read().await?;
        for (lane, slots) in lanes.iter_mut().zip(statistics) {
            lane.numerics.answer(&values, slots);
        }
        let mut numbers: Vec<Numbers> = Vec::new();
        for (slots_of_lane, reduced) in slots.iter().zip(&reduced) {
            let first = slots.first().zip(numbers.first().map(|first| first.gradient_norm));
            numbers.push(answer(&values, slots_of_lane, reduced, first).await?);
        }
        drop(reduced);
        let settled = self.settle(lanes, endings, &mut numbers).await?;
        let rows = lanes.iter().zip(numbers).zip(settled).zip(&self.early);
        Ok(rows
            .map(|(((lane, numbers), settled), early)| LaneRow {
                inner: early.attempts.clone(),
                ..self.row(lane, numbers, &settled)
            })
            .collect())
    }

    /// Takes back what was not finite.
    async fn settle(
        &self,
        lanes: &mut [Lane],
        endings: Vec<Ending>,
        numbers: &mut [Numbers],
    ) -> Result<Vec<Settled>, Fault> {
        let mut settled = Vec::new();
        for (((lane, ending), numbers), early) in lanes.iter_mut().zip(endings).zip(&mut *numbers).zip(&self.early) {
            let due = lane.rate(self.view(lane).facts.accumulation());
            let (outcome, rate, scale) = match ending {
                Ending::Attempted(attempt) => {
                    let (rate, scale) = (attempt.rate, attempt.scale);
                    (lane.settle(attempt, numbers.finite), rate, scale)
                }
                Ending::Carried => (Outcome::Carried, due, None),
                Ending::Skipped(outcome) => (outcome, due, None),
            };
            if outcome != Outcome::Applied {
                numbers.stood_still();
                // Moves of earlier microbatches are made all the same.
                if let (true, Some([_, _, updated])) = (early.applied(), &mut numbers.checksums) {
                    *updated = fnv1a(&read(lane.parameters(0)).await?);
                }
            }
            settled.push(Settled {
                taken_back: outcome == Outcome::NonFiniteGradient,
                outcome,
                rate,
                scale,
            });
        }
        // What was read are the parameters of updates that no longer stand.
        if settled.iter().any(|settled| settled.taken_back) {
            measure_distances(lanes, numbers).await?;
        }
        compare_no_skipped(numbers, &settled);
        Ok(settled)
    }

    fn row(&self, lane: &Lane, numbers: Numbers, settled: &Settled) -> LaneRow {
        if settled.outcome == Outcome::NoSupervisedToken {
            return self.skipped_row(lane, settled.outcome);
        }
        let view = self.view(lane);
        let logged_loss = if numbers.loss_sums.is_empty() {
            f64::NAN
        } else {
            let sums = numbers.weighted_sums.as_ref().unwrap_or(&numbers.loss_sums);
            logged_loss(lane.convention, &lane.recipe, &view.facts, sums)
        };
        LaneRow {
            inner: Vec::new(),
            outcome: settled.outcome,
            loss: group_loss(&view.plan, &numbers.loss_sums),
            loss_sums: numbers.loss_sums,
            logged_loss,
            gradient_norm: numbers.gradient_norm,
            clip_norms: numbers.clip_norms,
            scale: lane.scale_row(settled.scale),
            batch_norm: lane.numerics.row(),
            rate: settled.rate,
            counters: lane.counters,
            checksums: numbers.checksums,
            apart: numbers.apart,
            replicas: numbers.replicas,
        }
    }
}

async fn measure_distances(lanes: &[Lane], numbers: &mut [Numbers]) -> Result<(), Fault> {
    let Some((first, others)) = lanes.split_first() else {
        return Ok(());
    };
    for (lane, numbers) in others.iter().zip(numbers.iter_mut().skip(1)) {
        if let Some(apart) = &mut numbers.apart {
            apart.parameter_distance = parameter_distance(lane, first).await?;
        }
    }
    Ok(())
}

/// A lane that computed nothing has no gradient that could be compared.
fn compare_no_skipped(numbers: &mut [Numbers], settled: &[Settled]) {
    let skipped = |settled: &Settled| matches!(settled.outcome, Outcome::Dropped | Outcome::NoSupervisedToken);
    let first = settled.first().is_some_and(skipped);
    for (numbers, settled) in numbers.iter_mut().zip(settled) {
        if skipped(settled) {
            numbers.computed_nothing();
        }
        if let (true, Some(apart)) = (first || skipped(settled), &mut numbers.apart) {
            apart.gradient_cosine = f64::NAN;
            apart.gradient_relative_l2 = f64::NAN;
        }
    }
}
