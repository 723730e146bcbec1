//! What each phase of a run takes, written down as it happens.

use super::{Meter, free_abandoned_graphs};
use crate::{
    engine::Device,
    protocol::{Fault, MemoryRow, Phase, PhaseBytes},
};

/// The bytes of one run. Where nothing counts them, it stays empty and refuses nothing.
#[derive(Debug)]
pub struct Ledger {
    meter: Option<Meter>,
    limit: u64,
    open: Option<Open>,
    /// This group's phases, each kind and replica at its largest.
    phases: Vec<PhaseBytes>,
    /// Once the parameters are there.
    model: Option<PhaseBytes>,
    /// After the first update, whose buffers the optimizer keeps.
    state: Option<PhaseBytes>,
}

/// A phase that is going on.
#[derive(Clone, Copy, Debug)]
struct Open {
    phase: Phase,
    replica: Option<u32>,
    before: u64,
}

impl Ledger {
    /// For a run on `device` that may not use more than `limit` bytes, at the moment before its model is made: [`Phase::Model`] has begun.
    /// What an earlier run left unfinished is given back first, so that it does not count.
    pub fn of_model(device: &Device, limit: u64) -> Self {
        free_abandoned_graphs(device);
        let mut ledger = Self {
            meter: Meter::of(&device.clone().without_autodiff()),
            limit,
            open: None,
            phases: Vec::new(),
            model: None,
            state: None,
        };
        ledger.begin(Phase::Model, None);
        ledger
    }

    /// A phase begins. One that did not end is forgotten.
    pub fn begin(&mut self, phase: Phase, replica: Option<u32>) {
        let Some(meter) = &self.meter else { return };
        meter.mark();
        self.open = meter.in_use().map(|before| Open { phase, replica, before });
    }

    /// It ends.
    pub fn end(&mut self) {
        let Some((meter, open)) = self.meter.as_ref().zip(self.open.take()) else {
            return;
        };
        let Some(after) = meter.in_use() else { return };
        let Open { phase, replica, before } = open;
        let bytes = PhaseBytes {
            phase,
            replica,
            before,
            after,
            peak: meter.peak(before, after),
        };
        if phase == Phase::Model {
            self.model = Some(bytes);
            return;
        }
        let same = |other: &&mut PhaseBytes| (other.phase, other.replica) == (phase, replica);
        match self.phases.iter_mut().find(same) {
            None => self.phases.push(bytes),
            Some(largest) if bytes.peak > largest.peak => *largest = bytes,
            Some(_) => {}
        }
    }

    /// Refuses to go on where a phase of this group took more than the limit.
    pub fn check(&self, group: u64) -> Result<(), Fault> {
        match self.peak() {
            Some(in_use) if in_use > self.limit => Err(Fault::MemoryLimit {
                in_use,
                limit: self.limit,
                group,
            }),
            _ => Ok(()),
        }
    }

    /// The group that ended; `applied` says whether any lane's parameters changed. The next one starts empty.
    pub fn close(&mut self, applied: bool) -> Option<MemoryRow> {
        let mut phases = std::mem::take(&mut self.phases);
        let (meter, model) = self.meter.as_ref().zip(self.model)?;
        let in_use = meter.in_use()?;
        if applied && self.state.is_none() {
            let update = phases.iter().find(|bytes| bytes.phase == Phase::Update);
            let state = PhaseBytes {
                phase: Phase::OptimizerState,
                replica: None,
                before: model.after,
                after: in_use,
                peak: update.map_or(in_use, |update| update.peak),
            };
            self.state = Some(state);
            phases.push(state);
        }
        Some(row(meter, phases, in_use))
    }

    /// What stands whatever group is worked on: the model, and the optimizer's state once there is one.
    pub fn standing(&self) -> Option<MemoryRow> {
        let meter = self.meter.as_ref()?;
        let phases: Vec<PhaseBytes> = self.model.into_iter().chain(self.state).collect();
        let in_use = phases.last()?.after;
        Some(row(meter, phases, in_use))
    }

    fn peak(&self) -> Option<u64> {
        self.phases.iter().map(|bytes| bytes.peak).max()
    }
}

fn row(meter: &Meter, phases: Vec<PhaseBytes>, in_use: u64) -> MemoryRow {
    MemoryRow {
        source: meter.source(),
        peak: phases.iter().map(|bytes| bytes.peak).max().unwrap_or(in_use),
        phases,
        in_use,
        reserved: meter.reserved(),
    }
}
