//! One run: its lanes, what comes next, and what it reports.

mod ending;
mod epochs;
mod fixture;
mod group;
mod report;

use std::sync::Arc;

use burn::tensor::{Tensor, TensorData};
use web_time::Instant;

use super::{
    Device, init, lane::Lane, memory::Ledger, model::Network, numerics::Numerics, probe, readback::Readback,
    settings::Settings,
};
use crate::{
    batch::{Counters, Example, ExampleId, GroupPlan, LaneRule, Pass, Recipe, barren::Barren},
    data::{Corpus, DataError},
    protocol::{Fault, FullBatch, GroupRow, MicrobatchRow, Outcome, Phase, ProbeReport, RunFacts},
    setup::{Budget, Setup},
};
use epochs::Epochs;
use group::Group;

pub use report::READ_WHOLE;

/// What one call of [`Session::advance`] did.
#[derive(Debug)]
pub enum Advance {
    /// A group begins; nothing of it is computed yet.
    Began(GroupPlan),
    /// Work on one microbatch, over all lanes. Unwatched: one call does all of it and the row is
    /// [`Done`](crate::protocol::CellState::Done) without lanes. Watched: a first call does the forward (row
    /// [`Backward`](crate::protocol::CellState::Backward), no lanes), a second one the backward
    /// ([`Done`](crate::protocol::CellState::Done), one entry a lane).
    Microbatch(Vec<MicrobatchRow>),
    /// The group ended: reduced, checked, and applied or skipped. All its microbatches are reduced.
    Updated(Box<GroupRow>),
    /// The budget is reached. Every further call says so again.
    Finished,
}

/// One run of a Setup on a device.
pub struct Session {
    device: Device,
    examples: Arc<[Example]>,
    lanes: Vec<Lane>,
    epochs: Epochs,
    budget: Budget,
    group: Option<Box<Group>>,
    seen: Seen,
    /// Whether gradients and parameters are read back whole; see [`READ_WHOLE`].
    whole: bool,
    facts: RunFacts,
    worked_ms: f64,
    /// Groups that brought the run no nearer to its budget.
    barren: Barren,
    network: Network,
    ledger: Ledger,
    /// Whether a group computed on rows of its own is that of its microbatches; see [`probe::Subject`].
    rows_apart: bool,
    memory_limit: u64,
}

/// What one replica holds, flat.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicaValues {
    /// Its parameters.
    pub parameters: Vec<f32>,
    /// What its optimizer was given last: reduced, unscaled and clipped as its loop does it. Empty unless gradients are kept.
    pub stepped: Vec<f32>,
}

/// Which example IDs a run has met.
struct Seen {
    met: Vec<bool>,
    count: u64,
}

impl Session {
    /// Makes the first parameters of every lane. Nothing is computed yet.
    pub fn new(device: &Device, setup: &Setup, corpus: Corpus) -> Result<Self, Fault> {
        let ledger = Ledger::of_model(device, setup.memory_limit);
        let network = Network::of(setup, corpus.vocabulary.size());
        let start = init::parameters(&network, &setup.start, &corpus.vocabulary, setup.seed).map_err(Fault::Data)?;
        Self::build(device, setup, corpus.examples, network, start, ledger)
    }

    /// A run of `network` from the given first parameters; `setup` says the rest. For fixtures with a start of their own.
    pub fn with_network(
        device: &Device,
        setup: &Setup,
        examples: Vec<Example>,
        network: Network,
        start: Vec<f32>,
    ) -> Result<Self, Fault> {
        let ledger = Ledger::of_model(device, setup.memory_limit);
        Self::build(device, setup, examples, network, start, ledger)
    }

    fn build(
        device: &Device,
        setup: &Setup,
        examples: Vec<Example>,
        network: Network,
        start: Vec<f32>,
        mut ledger: Ledger,
    ) -> Result<Self, Fault> {
        refuse_too_long(&network, &examples).map_err(Fault::Data)?;
        let device = device.clone().without_autodiff();
        let parameters = start.len();
        let start = Tensor::<1>::from_data(TensorData::new(start, [parameters]), &device);
        let lane = |rule: &LaneRule| {
            let convention = rule.convention();
            let replicas = match convention.pass {
                Pass::AsSplit => setup.split.replicas.get(),
                Pass::Whole => 1,
            };
            let mut lane = Lane::new(
                convention,
                rule.recipe(),
                network,
                &start,
                replicas,
                Settings::of(setup),
            );
            lane.numerics = Numerics::new(setup, &network, replicas, &device);
            lane
        };
        let lanes: Vec<Lane> = setup.lanes.iter().map(lane).collect();
        let examples: Arc<[Example]> = examples.into();
        let epochs = Epochs::new(examples.clone(), setup);
        let groups_per_epoch = epochs.groups_left() as u64;
        if groups_per_epoch == 0 {
            let split = setup.split;
            let [m, a, d] = [split.microbatch, split.accumulation, split.replicas].map(|count| u64::from(count.get()));
            let needed = setup.sharding.group_size(m, a, d);
            return Err(Fault::Data(DataError::NoFullGroup {
                examples: examples.len() as u64,
                needed,
            }));
        }
        let facts = RunFacts {
            parameters: parameters as u64,
            vocabulary: u32::try_from(network.outputs()).unwrap_or(u32::MAX),
            examples: examples.len() as u64,
            groups_per_epoch,
            dropped_per_epoch: epochs.dropped().len() as u64,
            dropped: epochs.dropped().to_vec(),
            repeated_per_epoch: epochs.repeated(),
            memory: None,
        };
        let whole = parameters.saturating_mul(lanes.len()) <= READ_WHOLE;
        let seen = Seen {
            met: vec![false; examples.len()],
            count: 0,
        };
        ledger.end();
        Ok(Self {
            device,
            examples,
            lanes,
            epochs,
            budget: setup.budget,
            group: None,
            seen,
            whole,
            facts,
            worked_ms: 0.0,
            barren: Barren::default(),
            network,
            ledger,
            rows_apart: probe::rows_apart(setup),
            memory_limit: setup.memory_limit,
        })
    }

    /// What was built, with the bytes that stand by now.
    pub fn facts(&self) -> RunFacts {
        RunFacts {
            memory: self.ledger.standing(),
            ..self.facts.clone()
        }
    }

    /// All conventions on the next group, at the first lane's parameters. The run stays as it is.
    pub async fn probe(&self, full_batch: FullBatch) -> Result<ProbeReport, Fault> {
        let (Some(plan), Some(lane)) = (
            self.epochs.peek().filter(|_| self.at_group_boundary()),
            self.lanes.first(),
        ) else {
            return Err(Fault::InsideGroup);
        };
        // Lanes that work alike draw the same masks; one that works as the probe does knows which are due.
        let [split, whole] = [Pass::AsSplit, Pass::Whole].map(|pass| {
            let alike = self.lanes.iter().find(|lane| lane.convention.pass == pass);
            let mut numerics = alike.unwrap_or(lane).numerics.apart();
            numerics.enter_epoch(plan.epoch);
            numerics
        });
        if plan.supervised() > 0 {
            split.refuse(plan)?;
        }
        let subject = probe::Subject {
            device: &self.device,
            network: &self.network,
            parameters: lane.parameters(0),
            split: &split,
            whole: &whole,
            rows_apart: self.rows_apart,
            memory_limit: self.memory_limit,
        };
        let applied = lane.counters.applied_updates;
        probe::next_group(&subject, plan, &self.examples, full_batch, applied).await
    }

    /// Counts of the first lane, by which the budget goes.
    pub fn counters(&self) -> Counters {
        self.lanes.first().map_or_else(Counters::default, |lane| lane.counters)
    }

    /// Whether the run stands between two groups: before [`Advance::Began`], after [`Advance::Updated`].
    pub fn at_group_boundary(&self) -> bool {
        self.group.is_none()
    }

    /// Whether the budget is reached, so that the next [`Self::advance`] says [`Advance::Finished`].
    pub fn is_finished(&self) -> bool {
        self.at_group_boundary() && self.reached() >= self.budget.amount
    }

    /// The microbatch that the next [`Self::advance`] works on, its place in the group's plan; `None` where it will do something else.
    /// A host that shows work in progress reports it as waiting for its forward before it calls.
    pub fn next_cell(&self) -> Option<u32> {
        self.group.as_ref().and_then(|group| group.next_cell())
    }

    /// The parameters of every lane's first replica, flat, as they stand.
    pub async fn parameters(&self) -> Result<Vec<Vec<f32>>, Fault> {
        let mut readback = Readback::default();
        let slots: Vec<_> = self.lanes.iter().map(|lane| readback.add(lane.parameters(0))).collect();
        let values = readback.read().await?;
        Ok(slots.into_iter().map(|slot| values.of(slot).to_vec()).collect())
    }

    /// From here on each replica of every lane computes its own update, as separate processes do, instead of sharing one.
    pub fn compute_replicas_apart(&mut self) {
        self.lanes.iter_mut().for_each(Lane::compute_replicas_apart);
    }

    /// Gives a lane a loop that no fault names. Before its first group.
    pub fn set_recipe(&mut self, lane: usize, recipe: Recipe) {
        if let Some(lane) = self.lanes.get_mut(lane) {
            lane.recipe = recipe;
        }
    }

    /// Trains on the first two microbatches of each replica of the first group again and again, where anything of them is scored. Before
    /// its first group.
    pub(super) fn keep_first_microbatches(&mut self) {
        let Some(plan) = self.epochs.peek() else { return };
        let mut plan = plan.clone();
        plan.microbatches.retain(|k| k.facts.index < 2);
        if plan.supervised() > 0 {
            self.repeat(plan);
        }
    }

    /// Trains on this one group again and again. Before its first group.
    pub(super) fn repeat(&mut self, plan: GroupPlan) {
        self.epochs.repeat(plan);
        self.facts.groups_per_epoch = 1;
    }

    /// From here on what each replica's optimizer is given is kept for [`Self::replicas`].
    pub fn keep_gradients(&mut self) {
        self.lanes.iter_mut().for_each(Lane::keep_gradients);
    }

    /// What each replica of a lane holds; empty for a lane that there is not.
    pub async fn replicas(&self, lane: usize) -> Result<Vec<ReplicaValues>, Fault> {
        let Some(lane) = self.lanes.get(lane) else {
            return Ok(Vec::new());
        };
        let mut readback = Readback::default();
        let parameters: Vec<_> = lane.replicas().all_parameters().map(|p| readback.add(p)).collect();
        let gradients: Vec<_> = lane.kept_gradients().iter().map(|g| readback.add(g)).collect();
        let values = readback.read().await?;
        let one = |(i, parameters)| ReplicaValues {
            parameters: values.of(parameters).to_vec(),
            stepped: gradients.get(i).map_or_else(Vec::new, |&slot| values.of(slot).to_vec()),
        };
        Ok(parameters.into_iter().enumerate().map(one).collect())
    }

    /// Sums norms and distances up on the device even where parameters are few, as runs beyond [`READ_WHOLE`] do.
    pub fn sum_on_device(&mut self) {
        self.whole = false;
    }

    /// Does the next small thing. With `watch`, each microbatch's losses and a checksum of the parameters are read back at once;
    /// without, there is one readback a group, at its end. May change between calls.
    pub async fn advance(&mut self, watch: bool) -> Result<Advance, Fault> {
        let began = Instant::now();
        let mut advance = self.step(watch).await;
        self.worked_ms += began.elapsed().as_secs_f64() * 1e3;
        if let Ok(Advance::Updated(row)) = &mut advance {
            row.elapsed_ms = self.worked_ms;
        }
        advance
    }

    async fn step(&mut self, watch: bool) -> Result<Advance, Fault> {
        let Some(mut group) = self.group.take() else {
            return self.begin();
        };
        if let Some(cell) = group.next_cell() {
            let unique = self.seen.meet(group.ids_of(cell));
            let row = group
                .work_on(
                    &self.device,
                    &self.examples,
                    &mut self.lanes,
                    &mut self.ledger,
                    watch,
                    unique,
                )
                .await?;
            self.ledger.check(row.group)?;
            self.group = Some(group);
            return Ok(Advance::Microbatch(vec![row]));
        }
        let unique = self.seen.meet(group.plan().microbatches.iter().flat_map(|k| &k.ids));
        self.ledger.begin(Phase::Update, None);
        let mut row = group.end(&mut self.lanes, unique, self.whole).await?;
        self.ledger.end();
        let applied = row.lanes.iter().any(|lane| lane.ended() == Outcome::Applied);
        let first = row.lanes.first();
        let backed_off = first.is_some_and(|lane| lane.scales().any(|(_, scale)| scale.next < scale.used));
        self.barren.group(self.reached(), applied, backed_off);
        self.ledger.check(row.plan.number)?;
        row.memory = self.ledger.close(applied);
        Ok(Advance::Updated(Box::new(row)))
    }

    /// The count that the budget goes by.
    fn reached(&self) -> u64 {
        self.counters().get(self.budget.unit)
    }

    fn begin(&mut self) -> Result<Advance, Fault> {
        if self.is_finished() {
            return Ok(Advance::Finished);
        }
        // Some budgets would never be reached.
        if self.barren.endless(self.facts.groups_per_epoch) {
            return Err(Fault::NothingApplies {
                groups: self.barren.groups(),
            });
        }
        // An epoch without a group is refused when the run is built.
        let Some(next) = self.epochs.next() else {
            return Ok(Advance::Finished);
        };
        let plan = next.plan.clone();
        let group = Group::new(next.plan, next.dropped, &self.examples, &mut self.lanes);
        group.refuse(&self.lanes)?;
        self.group = Some(Box::new(group));
        Ok(Advance::Began(plan))
    }
}

impl Seen {
    /// Marks examples and returns how many different ones there have been.
    fn meet<'a>(&mut self, ids: impl IntoIterator<Item = &'a ExampleId>) -> u64 {
        for id in ids {
            if let Some(met) = usize::try_from(id.0).ok().and_then(|i| self.met.get_mut(i)) {
                self.count += u64::from(!std::mem::replace(met, true));
            }
        }
        self.count
    }
}

fn refuse_too_long(network: &Network, examples: &[Example]) -> Result<(), DataError> {
    let Some(longest) = network.longest() else {
        return Ok(());
    };
    match examples.iter().find(|example| example.length() > longest) {
        None => Ok(()),
        Some(example) => Err(DataError::TooLong {
            example: example.id.0,
            length: example.length() as u64,
            max: u32::try_from(longest).unwrap_or(u32::MAX),
        }),
    }
}
