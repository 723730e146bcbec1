//! `lab train`: the same run that the page makes.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::PathBuf,
};

use microbatch_lab::{
    batch::LaneRule,
    engine::{self, Advance, Session, check},
    protocol::{DeviceReport, Fault, GroupRow, Outcome, journal},
    setup::lane_name,
};

use crate::{
    args::{Device, Train},
    failure::Failure,
    inputs,
};

pub(crate) fn run(train: &Train, out: &mut impl Write) -> Result<(), Failure> {
    pollster::block_on(run_async(train, out))
}

async fn run_async(train: &Train, out: &mut impl Write) -> Result<(), Failure> {
    let (setup, corpus) = inputs::read(&train.paths)?;
    let (device, report) = open(train.device).await?;
    let checked = engine::self_check(&device).await?;
    if let Some(refusal) = check::refusal(&checked) {
        return Err(refusal.into());
    }
    writeln!(
        out,
        "device {}, gradient off the oracle by {:.1e}",
        describe(&report),
        checked.gradient_error
    )?;
    let mut session = Session::new(&device, &setup, corpus).map_err(|fault| match fault {
        Fault::Data(error) => Failure::Data {
            path: train.paths.setup.clone(),
            error,
        },
        other => other.into(),
    })?;
    let mut journal = train.journal.clone().map(Journal::create).transpose()?;
    if let Some(journal) = &mut journal {
        journal.write(&[journal::header(&setup, &session.facts(), &report)])?;
    }
    let mut writer = journal::Writer::new(&setup.lanes);
    loop {
        match session.advance(false).await? {
            Advance::Updated(row) => {
                print_row(&setup.lanes, &row, out)?;
                if let Some(journal) = &mut journal {
                    journal.write(&writer.lines(&row))?;
                }
            }
            Advance::Finished => break,
            Advance::Began(_) | Advance::Microbatch(_) => {}
        }
    }
    journal.map_or(Ok(()), Journal::close)
}

#[cfg_attr(
    not(feature = "gpu"),
    expect(clippy::unused_async, reason = "WebGPU opens asynchronously")
)]
async fn open(device: Device) -> Result<(engine::Device, DeviceReport), Fault> {
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

fn print_row(lanes: &[LaneRule], row: &GroupRow, out: &mut impl Write) -> Result<(), Failure> {
    write!(out, "group {}", row.plan.number)?;
    for (&rule, lane) in lanes.iter().zip(&row.lanes) {
        let name = lane_name(rule);
        match (lane.outcome, lane.loss.token_weighted(), lane.loss.mean_of_means()) {
            (Outcome::NoSupervisedToken, ..) => write!(out, "  {name}: no supervised token, skipped")?,
            (Outcome::NonFiniteGradient, ..) => write!(out, "  {name}: the gradient is not finite, skipped")?,
            (Outcome::Refused(error), ..) => write!(out, "  {name}: refused, {error}")?,
            (Outcome::Dropped, ..) => write!(out, "  {name}: partial group, dropped")?,
            (Outcome::Carried, ..) => write!(out, "  {name}: partial group, left in .grad")?,
            (Outcome::Applied, weighted, unweighted) => {
                let (weighted, unweighted) = (weighted.unwrap_or(f64::NAN), unweighted.unwrap_or(f64::NAN));
                let (applied, n) = (lane.counters.applied_updates, lane.loss.supervised);
                write!(
                    out,
                    "  {name}: update {applied}, loss {weighted:.4} over {n} tokens, {unweighted:.4} as mean of means"
                )?;
            }
        }
    }
    writeln!(out)?;
    Ok(())
}

struct Journal {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Journal {
    fn create(path: PathBuf) -> Result<Self, Failure> {
        match File::create(&path) {
            Ok(file) => Ok(Self {
                path,
                file: BufWriter::new(file),
            }),
            Err(error) => Err(Failure::Write { path, error }),
        }
    }

    fn write(&mut self, lines: &[String]) -> Result<(), Failure> {
        let written = lines.iter().try_for_each(|line| writeln!(self.file, "{line}"));
        written.map_err(|error| Failure::Write {
            path: self.path.clone(),
            error,
        })
    }

    fn close(mut self) -> Result<(), Failure> {
        self.file
            .flush()
            .map_err(|error| Failure::Write { path: self.path, error })
    }
}
