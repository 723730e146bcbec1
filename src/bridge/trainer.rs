//! What the worker's loop needs of the engine. The binaries say how the engine does it; tests have their own.

use crate::protocol::{
    DeviceReport, Fault, FitReport, FitTry, Fixture, FullBatch, GroupRow, MicrobatchRow, PreflightReport, Preparation,
    ProbeReport, RunFacts, SelfCheck,
};
use crate::{batch::GroupPlan, setup::Setup};

/// One small thing that a run did.
#[derive(Clone, Debug, PartialEq)]
pub enum Advance {
    /// A group begins; nothing of it is computed yet.
    Began(GroupPlan),
    /// Work on one microbatch, over all lanes.
    Microbatch(Vec<MicrobatchRow>),
    /// The group ended.
    Updated(Box<GroupRow>),
    /// The budget is reached.
    Finished,
}

/// One run.
#[expect(async_fn_in_trait, reason = "a worker has one thread, so nothing needs to be Send")]
pub trait Trainer {
    /// What was built.
    fn facts(&self) -> RunFacts;

    /// Whether the run stands between two groups.
    fn at_group_boundary(&self) -> bool;

    /// Whether the budget is reached, so that the next advance says [`Advance::Finished`].
    fn is_finished(&self) -> bool;

    /// The microbatch that the next advance works on, its place in the group's plan; `None` where it will do something else.
    fn next_cell(&self) -> Option<u32>;

    /// Does the next small thing; with `watch`, forward and backward apart and with the numbers of each microbatch.
    async fn advance(&mut self, watch: bool) -> Result<Advance, Fault>;

    /// All conventions on the next group, at the first lane's parameters. The run stays as it is.
    async fn probe(&mut self, full_batch: FullBatch) -> Result<ProbeReport, Fault>;
}

/// One device and the runs that are built on it.
#[expect(async_fn_in_trait, reason = "a worker has one thread, so nothing needs to be Send")]
pub trait Workshop {
    /// Its runs.
    type Trainer: Trainer;

    /// Opens the device.
    async fn open(&mut self) -> Result<DeviceReport, Fault>;

    /// Computes one small group and compares it with the oracle.
    async fn check(&mut self) -> Result<SelfCheck, Fault>;

    /// Builds a run up to its start, and tells `say` at once what slow step is going on.
    async fn load(
        &mut self,
        setup: &Setup,
        own_text: Option<&str>,
        say: &dyn Fn(Preparation),
    ) -> Result<Self::Trainer, Fault>;

    /// The same for a run that is given.
    async fn load_fixture(&mut self, fixture: Fixture, say: &dyn Fn(Preparation)) -> Result<Self::Trainer, Fault>;

    /// A few updates of a small controlled set, checked; `go_on` is asked between two small things, and ends it with [`Fault::Stopped`].
    async fn preflight(
        &mut self,
        setup: &Setup,
        own_text: Option<&str>,
        go_on: &impl AsyncFn() -> bool,
    ) -> Result<PreflightReport, Fault>;

    /// The largest m that fits into `limit` bytes; `go_on` is told of each try, and asked as for a check.
    async fn fit(
        &mut self,
        setup: &Setup,
        own_text: Option<&str>,
        limit: u64,
        go_on: &impl AsyncFn(Option<FitTry>) -> bool,
    ) -> Result<FitReport, Fault>;
}
