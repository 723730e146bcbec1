//! What the person can ask of the worker beside a run: the probe, the check before a campaign, and the largest m that fits.

use super::{Lab, msg::Effect, ready, run};
use crate::{
    data::DataError,
    protocol::{Command, Fault, FitReport, FitTry, FullBatch, PreflightReport, ProbeReport},
    setup::{Draft, Setup, parse::parse},
};

/// One question and its answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Answer<T> {
    /// Not asked.
    #[default]
    None,
    /// The worker is at it.
    Waiting,
    /// The answer.
    Done(T),
    /// Why there is none.
    Failed(Fault),
}

impl<T> Answer<T> {
    /// The same answer, told otherwise.
    pub fn map<U>(&self, told: impl FnOnce(&T) -> U) -> Answer<U> {
        match self {
            Self::None => Answer::None,
            Self::Waiting => Answer::Waiting,
            Self::Done(answer) => Answer::Done(told(answer)),
            Self::Failed(fault) => Answer::Failed(fault.clone()),
        }
    }

    /// Whether the worker is at it.
    pub fn waits(&self) -> bool {
        matches!(self, Self::Waiting)
    }

    /// What the worker sent.
    pub(super) fn take(result: Result<T, Fault>) -> Self {
        result.map_or_else(Self::Failed, Self::Done)
    }
}

/// All of them, each with the experiment that it was asked about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tools {
    /// All conventions at one point.
    pub probe: Answer<ProbeReport>,
    /// The check before a campaign.
    pub preflight: Answer<PreflightReport>,
    /// The largest m that fits.
    pub fit: Answer<FitReport>,
    /// Sizes tried so far.
    pub fit_tries: Vec<FitTry>,
    /// The draft that was checked, for the names of its lanes; the form may have changed since.
    pub checked: Option<Draft>,
    /// The draft whose largest m was looked for.
    pub fitted: Option<Draft>,
}

impl Tools {
    /// The worker that was asked is gone: no answer will come. Without a fault, the person sent it away.
    pub(super) fn worker_gone(&mut self, fault: Option<&Fault>) {
        fn end<T>(answer: &mut Answer<T>, fault: Option<&Fault>) {
            if answer.waits() {
                *answer = fault.map_or(Answer::None, |fault| Answer::Failed(fault.clone()));
            }
        }
        end(&mut self.probe, fault);
        end(&mut self.preflight, fault);
        end(&mut self.fit, fault);
    }

    /// The run that was probed ended in a fault, which is then the answer.
    pub(super) fn run_failed(&mut self, fault: &Fault) {
        if self.probe.waits() {
            self.probe = Answer::Failed(fault.clone());
        }
    }
}

/// Asks for the probe. Nothing happens unless a run stands at a boundary.
pub(super) fn probe(lab: &mut Lab, full_batch: FullBatch) -> Vec<Effect> {
    if ready::probe(lab).is_err() {
        return Vec::new();
    }
    lab.tools.probe = Answer::Waiting;
    vec![Effect::Send(Command::Probe {
        run: lab.machine.run,
        full_batch,
    })]
}

/// Asks for the check of the draft.
pub(super) fn preflight(lab: &mut Lab) -> Vec<Effect> {
    if ready::preflight(lab).is_err() {
        return Vec::new();
    }
    match subject(lab) {
        None => Vec::new(),
        Some(Err(error)) => {
            lab.tools.preflight = Answer::Failed(Fault::Data(error));
            Vec::new()
        }
        Some(Ok((setup, own_text))) => {
            lab.tools.preflight = Answer::Waiting;
            lab.tools.checked = Some(lab.blueprint.draft.clone());
            vec![Effect::Send(Command::Preflight { setup, own_text })]
        }
    }
}

/// Asks for the largest m of the draft.
pub(super) fn fit(lab: &mut Lab, limit: u64) -> Vec<Effect> {
    if ready::fit(lab).is_err() {
        return Vec::new();
    }
    match subject(lab) {
        None => Vec::new(),
        Some(Err(error)) => {
            lab.tools.fit = Answer::Failed(Fault::Data(error));
            Vec::new()
        }
        Some(Ok((setup, own_text))) => {
            lab.tools.fit = Answer::Waiting;
            lab.tools.fitted = Some(lab.blueprint.draft.clone());
            lab.tools.fit_tries.clear();
            vec![Effect::Send(Command::Fit { setup, own_text, limit })]
        }
    }
}

/// Asks for no more of a check or a fit. The answer comes all the same, and says so.
pub(super) fn stop(lab: &Lab) -> Vec<Effect> {
    let waits = lab.tools.preflight.waits() || lab.tools.fit.waits();
    waits.then_some(Effect::Send(Command::Stop)).into_iter().collect()
}

/// An experiment and, where it asks for one, the text of its file.
type Subject = (Box<Setup>, Option<String>);

/// The draft as a setup, with the text of its file. `None` where the draft has errors.
fn subject(lab: &Lab) -> Option<Result<Subject, DataError>> {
    let setup = parse(&lab.blueprint.draft).ok()?;
    let own = run::own_text(lab.blueprint.own.as_ref(), &setup);
    Some(own.map(|text| (Box::new(setup), text)))
}
