//! Opening a device for a command, and refusing one that computes wrongly.

use std::io::Write;

use microbatch_lab::{
    data::Corpus,
    engine::{self, Session, check},
    protocol::{DeviceReport, Fault},
    setup::Setup,
};

use crate::{
    args::{Device, OnDevice},
    failure::Failure,
    inputs,
};

/// An experiment on a device that has shown that it computes rightly.
pub(crate) struct Ready {
    pub(crate) setup: Setup,
    pub(crate) corpus: Corpus,
    pub(crate) device: engine::Device,
    pub(crate) report: DeviceReport,
}

impl Ready {
    /// A run of it from its start.
    pub(crate) fn session(&self, subject: &OnDevice) -> Result<Session, Failure> {
        Session::new(&self.device, &self.setup, self.corpus.clone()).map_err(|fault| failure(subject, fault))
    }
}

/// Data that cannot be used is the setup's fault, and named with it.
pub(crate) fn failure(subject: &OnDevice, fault: Fault) -> Failure {
    match fault {
        Fault::Data(error) => Failure::Data {
            path: subject.paths.setup.clone(),
            error,
        },
        other => other.into(),
    }
}

/// Reads the experiment, opens the device and checks it; says which it is.
pub(crate) async fn open(subject: &OnDevice, out: &mut impl Write) -> Result<Ready, Failure> {
    let (setup, corpus) = inputs::read(&subject.paths)?;
    let (device, report) = open_device(subject.device).await?;
    let checked = engine::self_check(&device).await?;
    if let Some(refusal) = check::refusal(&checked) {
        return Err(refusal.into());
    }
    let off = checked.gradient_error;
    writeln!(
        out,
        "device {}, gradient off the oracle by {off:.1e}",
        describe(&report)
    )?;
    Ok(Ready {
        setup,
        corpus,
        device,
        report,
    })
}

#[cfg_attr(
    not(feature = "gpu"),
    expect(clippy::unused_async, reason = "WebGPU opens asynchronously")
)]
async fn open_device(device: Device) -> Result<(engine::Device, DeviceReport), Fault> {
    match device {
        Device::Cpu => Ok(engine::device::open_cpu()),
        #[cfg(feature = "gpu")]
        Device::WebGpu => engine::device::open_gpu().await,
        #[cfg(not(feature = "gpu"))]
        Device::WebGpu => Err(Fault::NoWebGpu {
            reason: "it is not in this build".to_owned(),
        }),
    }
}

fn describe(report: &DeviceReport) -> String {
    match &report.adapter {
        None => report.kind.clone(),
        Some(adapter) => format!("{} ({}, {})", report.kind, adapter.name, adapter.backend),
    }
}
