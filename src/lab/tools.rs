//! What the person can ask of the worker beside a run: the probe, the check before a campaign, and the largest m that fits.

use super::{
    Lab,
    machine::{DeviceState, Transport},
    msg::Effect,
};
use crate::{
    protocol::{Command, Fault, FitReport, FitTry, PreflightReport, ProbeReport},
    setup::{Data, Setup, parse::parse},
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
    /// What the worker sent.
    pub(super) fn take(result: Result<T, Fault>) -> Self {
        result.map_or_else(Self::Failed, Self::Done)
    }
}

/// All of them.
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
}

impl Tools {
    /// The worker that was asked is gone.
    pub(super) fn worker_gone(&mut self, fault: &Fault) {
        fn end<T>(answer: &mut Answer<T>, fault: &Fault) {
            if matches!(answer, Answer::Waiting) {
                *answer = Answer::Failed(fault.clone());
            }
        }
        end(&mut self.probe, fault);
        end(&mut self.preflight, fault);
        end(&mut self.fit, fault);
    }
}

/// Asks for the probe. Nothing happens unless a run stands at a boundary.
pub(super) fn probe(lab: &mut Lab) -> Vec<Effect> {
    if !matches!(lab.machine.transport, Transport::Paused | Transport::Finished) {
        return Vec::new();
    }
    lab.tools.probe = Answer::Waiting;
    vec![Effect::Send(Command::Probe(lab.machine.run))]
}

/// Asks for the check of the draft.
pub(super) fn preflight(lab: &mut Lab) -> Vec<Effect> {
    let Some((setup, own_text)) = subject(lab) else {
        return Vec::new();
    };
    lab.tools.preflight = Answer::Waiting;
    vec![Effect::Send(Command::Preflight { setup, own_text })]
}

/// Asks for the largest m of the draft.
pub(super) fn fit(lab: &mut Lab, limit: u64) -> Vec<Effect> {
    let Some((setup, own_text)) = subject(lab) else {
        return Vec::new();
    };
    lab.tools.fit = Answer::Waiting;
    lab.tools.fit_tries.clear();
    vec![Effect::Send(Command::Fit { setup, own_text, limit })]
}

/// The draft as a setup, with the text of its file. `None` where the draft has errors or no device is ready: the form and the line
/// about the device say so.
fn subject(lab: &Lab) -> Option<(Box<Setup>, Option<String>)> {
    let usable = matches!(lab.machine.device, DeviceState::Usable(..));
    let idle = !matches!(
        lab.machine.transport,
        Transport::Loading | Transport::Running | Transport::Pausing
    );
    let setup = parse(&lab.blueprint.draft).ok().filter(|_| usable && idle)?;
    let own = lab
        .blueprint
        .own
        .as_ref()
        .filter(|_| matches!(setup.data, Data::Own { .. }));
    Some((Box::new(setup), own.map(|file| file.text.to_string())))
}
