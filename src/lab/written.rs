//! What a run needs for its journal to be written, and how many bytes that takes.

use super::Recording;
use crate::{
    protocol::{DeviceReport, GroupRow, LaneRow, RunFacts, journal},
    setup::Setup,
};

/// A run's journal before it is text.
#[derive(Clone, Debug)]
pub struct Written {
    setup: Setup,
    facts: RunFacts,
    device: DeviceReport,
    groups: Vec<GroupRow>,
}

impl Written {
    /// What a recording that is no longer needed leaves; `None` where its run was never loaded.
    pub fn from(recording: Recording) -> Option<Self> {
        Some(Self {
            setup: recording.setup,
            facts: recording.facts?,
            device: recording.device?,
            groups: recording.groups,
        })
    }

    /// The journal, one line after another.
    pub fn text(&self) -> String {
        text(&self.setup, &self.facts, &self.device, &self.groups)
    }

    /// Bytes that its groups hold in memory, to within what an allocator adds.
    pub fn bytes(&self) -> u64 {
        self.groups.iter().map(bytes).sum()
    }
}

/// The journal of a run as far as it got; `None` before it was loaded.
pub fn journal_of(recording: &Recording) -> Option<String> {
    let (facts, device) = (recording.facts.as_ref()?, recording.device.as_ref()?);
    Some(text(&recording.setup, facts, device, &recording.groups))
}

fn text(setup: &Setup, facts: &RunFacts, device: &DeviceReport, groups: &[GroupRow]) -> String {
    let mut writer = journal::Writer::new(&setup.lanes);
    let mut text = journal::header(setup, facts, device);
    text.push('\n');
    for line in groups.iter().flat_map(|row| writer.lines(row)) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

fn bytes(row: &GroupRow) -> u64 {
    fn held<T>(list: &[T]) -> usize {
        size_of_val(list)
    }
    let plan = &row.plan.microbatches;
    let ids: usize = plan.iter().map(|k| held(&k.ids)).sum();
    let lane = |lane: &LaneRow| {
        let statistics = lane
            .batch_norm
            .as_ref()
            .map_or(0, |norm| held(&norm.running_mean) + held(&norm.running_var));
        held(&lane.loss_sums) + held(&lane.clip_norms) + statistics
    };
    let lanes: usize = held(&row.lanes) + row.lanes.iter().map(lane).sum::<usize>();
    let memory = row.memory.as_ref().map_or(0, |memory| held(&memory.phases));
    (size_of::<GroupRow>() + held(plan) + ids + held(&row.dropped) + lanes + memory) as u64
}
