//! Group after group, epoch after epoch.

use std::{collections::VecDeque, sync::Arc};

use crate::{
    batch::{
        EpochPlan, Example, ExampleId, GroupPlan, epoch_order,
        order::padded_to_replicas,
        plan::{EpochStart, plan_epoch},
    },
    setup::Setup,
};

/// The groups of a run, in order, without end.
pub(super) struct Epochs {
    examples: Arc<[Example]>,
    setup: Setup,
    epoch: u32,
    groups: VecDeque<GroupPlan>,
    /// Left out of the epoch that `groups` belongs to.
    dropped: Vec<ExampleId>,
    /// Examples that the sampler repeats in an epoch.
    repeated: u64,
    /// The one group of every epoch, where it is given.
    only: Option<GroupPlan>,
}

/// A group, and who its epoch leaves out if it is the epoch's last.
pub(super) struct Next {
    pub(super) plan: GroupPlan,
    pub(super) dropped: Vec<ExampleId>,
}

impl Epochs {
    pub(super) fn new(examples: Arc<[Example]>, setup: &Setup) -> Self {
        let mut epochs = Self {
            examples,
            setup: setup.clone(),
            epoch: 0,
            groups: VecDeque::new(),
            dropped: Vec::new(),
            repeated: 0,
            only: None,
        };
        epochs.begin(0);
        epochs
    }

    /// From here on every epoch is this one group.
    pub(super) fn repeat(&mut self, plan: GroupPlan) {
        self.only = Some(plan);
        self.dropped.clear();
        self.begin(0);
    }

    /// Groups left in this epoch.
    pub(super) fn groups_left(&self) -> usize {
        self.groups.len()
    }

    /// Left out of this epoch.
    pub(super) fn dropped(&self) -> &[ExampleId] {
        &self.dropped
    }

    /// Examples that the sampler repeats in an epoch.
    pub(super) fn repeated(&self) -> u64 {
        self.repeated
    }

    /// The group that [`Self::next`] will give.
    pub(super) fn peek(&self) -> Option<&GroupPlan> {
        self.groups.front()
    }

    /// The next group; `None` where an epoch has none.
    pub(super) fn next(&mut self) -> Option<Next> {
        let plan = self.groups.pop_front()?;
        if !self.groups.is_empty() {
            return Some(Next {
                plan,
                dropped: Vec::new(),
            });
        }
        let dropped = std::mem::take(&mut self.dropped);
        self.epoch = self.epoch.saturating_add(1);
        self.begin(plan.number + 1);
        Some(Next { plan, dropped })
    }

    fn begin(&mut self, first_group: u64) {
        if let Some(plan) = &self.only {
            let plan = GroupPlan {
                number: first_group,
                epoch: self.epoch,
                ..plan.clone()
            };
            self.groups = [plan].into();
            return;
        }
        let setup = &self.setup;
        let count = u32::try_from(self.examples.len()).unwrap_or(u32::MAX);
        let mut order = epoch_order(count, setup.shuffle.then_some(setup.seed), self.epoch);
        if setup.sampler_padding {
            order = padded_to_replicas(order, setup.split.replicas.get());
        }
        self.repeated = (order.len() - self.examples.len()) as u64;
        let start = EpochStart {
            epoch: self.epoch,
            first_group,
        };
        let EpochPlan { groups, dropped } = plan_epoch(
            &self.examples,
            &order,
            setup.split,
            setup.sharding,
            setup.last_group,
            start,
        );
        self.groups = groups.into();
        self.dropped = dropped;
    }
}
