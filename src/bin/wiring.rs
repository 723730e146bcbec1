//! How a worker's loop drives the engine.

use microbatch_lab::{
    bridge::{
        host,
        navigator::look,
        trainer::{Advance, Trainer, Workshop},
    },
    data,
    engine::{self, Device, Session, WarmUp},
    protocol::{
        DeviceReport, Fault, FitReport, FitTry, Fixture, Found, FullBatch, PreflightReport, Preparation, ProbeReport,
        RunFacts, SelfCheck,
    },
    setup::Setup,
};

/// Starts the worker on the device it was built for.
pub(crate) fn start() {
    engine::start::call_constructors_once();
    host::start(OnDevice::default());
}

/// The device, once it is open.
#[derive(Default)]
struct OnDevice {
    device: Option<Device>,
    /// Whether kernels have to be compiled before a run.
    compiles: bool,
}

impl OnDevice {
    fn device(&self) -> Result<&Device, Fault> {
        self.device.as_ref().ok_or(Fault::NoSuchRun)
    }
}

impl Workshop for OnDevice {
    type Trainer = OnSession;

    async fn open(&mut self) -> Result<DeviceReport, Fault> {
        let (device, mut report) = engine::device::open().await?;
        if let Some(facts) = &mut report.adapter
            && let Found::Adapter(told) = look().await
        {
            facts.complete(&told);
        }
        self.device = Some(device);
        self.compiles = report.adapter.is_some();
        Ok(report)
    }

    async fn check(&mut self) -> Result<SelfCheck, Fault> {
        engine::self_check(self.device()?).await
    }

    async fn load(
        &mut self,
        setup: &Setup,
        own_text: Option<&str>,
        say: &dyn Fn(Preparation),
    ) -> Result<OnSession, Fault> {
        let device = self.device()?;
        let corpus = data::build(setup, own_text).map_err(Fault::Data)?;
        if self.compiles {
            let mut warm_up = WarmUp::new(device, setup, &corpus)?;
            while let Some(progress) = warm_up.step().await? {
                say(progress);
            }
        }
        Ok(OnSession(Session::new(device, setup, corpus)?))
    }

    async fn load_fixture(&mut self, fixture: Fixture, say: &dyn Fn(Preparation)) -> Result<OnSession, Fault> {
        let device = self.device()?;
        if self.compiles {
            let mut warm_up = WarmUp::of_fixture(device, fixture.clone())?;
            while let Some(progress) = warm_up.step().await? {
                say(progress);
            }
        }
        Ok(OnSession(Session::of_fixture(device, fixture)?))
    }

    async fn preflight(
        &mut self,
        setup: &Setup,
        own_text: Option<&str>,
        go_on: &impl AsyncFn() -> bool,
    ) -> Result<PreflightReport, Fault> {
        let corpus = data::build(setup, own_text).map_err(Fault::Data)?;
        engine::preflight(self.device()?, setup, &corpus, go_on).await
    }

    async fn fit(
        &mut self,
        setup: &Setup,
        own_text: Option<&str>,
        limit: u64,
        go_on: &impl AsyncFn(Option<FitTry>) -> bool,
    ) -> Result<FitReport, Fault> {
        let corpus = data::build(setup, own_text).map_err(Fault::Data)?;
        engine::fit(self.device()?, setup, &corpus, limit, go_on).await
    }
}

struct OnSession(Session);

impl Trainer for OnSession {
    fn facts(&self) -> RunFacts {
        self.0.facts()
    }

    fn at_group_boundary(&self) -> bool {
        self.0.at_group_boundary()
    }

    fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    fn next_cell(&self) -> Option<u32> {
        self.0.next_cell()
    }

    async fn advance(&mut self, watch: bool) -> Result<Advance, Fault> {
        Ok(match self.0.advance(watch).await? {
            engine::Advance::Began(plan) => Advance::Began(plan),
            engine::Advance::Microbatch(rows) => Advance::Microbatch(rows),
            engine::Advance::Updated(row) => Advance::Updated(row),
            engine::Advance::Finished => Advance::Finished,
        })
    }
    async fn probe(&mut self, full_batch: FullBatch) -> Result<ProbeReport, Fault> {
        self.0.probe(full_batch).await
    }
}
