//! `lab train`: the same run that the page makes.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::PathBuf,
};

use microbatch_lab::{
    batch::LaneRule,
    engine::Advance,
    protocol::{GroupRow, LaneRow, Outcome, ReplicaSpread, journal},
    setup::lane_name,
};

use crate::{args::Train, bytes, device, failure::Failure};

pub(crate) fn run(train: &Train, out: &mut impl Write) -> Result<(), Failure> {
    pollster::block_on(run_async(train, out))
}

async fn run_async(train: &Train, out: &mut impl Write) -> Result<(), Failure> {
    let ready = device::open(&train.subject, out).await?;
    let mut session = ready.session(&train.subject)?;
    let lanes = &ready.setup.lanes;
    let mut journal = train.journal.clone().map(Journal::create).transpose()?;
    if let Some(journal) = &mut journal {
        journal.write(&[journal::header(&ready.setup, &session.facts(), &ready.report)])?;
    }
    loop {
        match session.advance(false).await? {
            Advance::Updated(row) => {
                print_row(lanes, &row, out)?;
                if let Some(journal) = &mut journal {
                    journal.write(&journal::lines(lanes, &row))?;
                }
            }
            Advance::Finished => break,
            Advance::Began(_) | Advance::Microbatch(_) => {}
        }
    }
    journal.map_or(Ok(()), Journal::close)
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
        write!(out, "{}", beside(lane))?;
    }
    if let Some(memory) = &row.memory {
        write!(out, "  peak {}", bytes::text(memory.peak))?;
    }
    writeln!(out)?;
    Ok(())
}

/// What the loop did beside the update, where it does that at all: the loss scale, exchanges, norms that were clipped, replicas.
fn beside(lane: &LaneRow) -> String {
    let mut facts = String::new();
    if let Some(scale) = lane.scale {
        facts += &if scale.used.to_bits() == scale.next.to_bits() {
            format!(", loss scale {}", scale.used)
        } else {
            format!(", loss scale {}, then {}", scale.used, scale.next)
        };
        let skipped = lane.counters.update_attempts - lane.counters.applied_updates;
        if skipped > 0 {
            facts += &format!(
                ", {skipped} of {} attempts skipped so far",
                lane.counters.update_attempts
            );
        }
    }
    if let Some(norm) = lane.clip_norms.last() {
        facts += &format!(", norm {norm:.4} at the clip");
    }
    if lane.counters.all_reduces > 0 {
        let (count, bytes) = (lane.counters.all_reduces, bytes::text(lane.counters.all_reduced_bytes));
        facts += &format!(", {count} all-reduces so far ({bytes} from each replica)");
    }
    if let ReplicaSpread::Parted { largest } = lane.replicas {
        facts += &format!(", replicas up to {largest:.1e} apart");
    }
    facts
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
