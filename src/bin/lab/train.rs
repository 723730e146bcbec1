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
    let mut writer = journal::Writer::new(lanes);
    loop {
        match session.advance(false).await? {
            Advance::Updated(row) => {
                print_row(lanes, &row, out)?;
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

fn print_row(lanes: &[LaneRule], row: &GroupRow, out: &mut impl Write) -> Result<(), Failure> {
    write!(out, "group {}", row.plan.number)?;
    for (&rule, lane) in lanes.iter().zip(&row.lanes) {
        write!(out, "  {}: ", lane_name(rule))?;
        outcome(lane, out)?;
        beside(lane, out)?;
    }
    if let Some(memory) = &row.memory {
        write!(out, "  peak {}", bytes::text(memory.peak))?;
    }
    writeln!(out)?;
    Ok(())
}

fn outcome(lane: &LaneRow, out: &mut impl Write) -> Result<(), Failure> {
    let applied = lane.counters.applied_updates;
    match (lane.ended(), lane.loss.token_weighted(), lane.loss.mean_of_means()) {
        (Outcome::NoSupervisedToken, ..) => write!(out, "no supervised token, skipped")?,
        (Outcome::NonFiniteGradient, ..) => write!(out, "the gradient is not finite, skipped")?,
        (Outcome::Refused(error), ..) => write!(out, "refused, {error}")?,
        (Outcome::Dropped, ..) => write!(out, "partial group, dropped")?,
        (Outcome::Carried, ..) => write!(out, "partial group, left in .grad")?,
        (Outcome::Applied, Some(weighted), Some(unweighted)) => {
            let n = lane.loss.supervised;
            write!(
                out,
                "update {applied}, loss {weighted:.4} over {n} tokens, {unweighted:.4} as mean of means"
            )?;
        }
        (Outcome::Applied, ..) => write!(out, "update {applied} without any supervised token")?,
    }
    Ok(())
}

/// What the loop did beside the update, where it does that at all: the loss scale, norms that were clipped, exchanges, replicas.
fn beside(lane: &LaneRow, out: &mut impl Write) -> Result<(), Failure> {
    let counters = lane.counters;
    if let Some((_, first)) = lane.scales().next() {
        write!(out, ", loss scale {}", first.used)?;
        for (_, scale) in lane.scales() {
            if scale.used.to_bits() != scale.next.to_bits() {
                write!(out, ", then {}", scale.next)?;
            }
        }
        let attempts = counters.update_attempts;
        let skipped = attempts.saturating_sub(counters.applied_updates);
        if skipped > 0 {
            write!(out, ", {skipped} of {attempts} attempts skipped so far")?;
        }
    }
    if let Some(norm) = lane.clip_norms.last() {
        write!(out, ", norm {norm:.4} at the clip")?;
    }
    if counters.all_reduces > 0 {
        let (count, each) = (counters.all_reduces, bytes::text(counters.all_reduced_bytes));
        write!(out, ", {count} all-reduces so far ({each} from each replica)")?;
    }
    if let ReplicaSpread::Parted { largest } = lane.replicas {
        write!(out, ", replicas up to {largest:.1e} apart")?;
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use microbatch_lab::{
        batch::{Counters, GroupLoss},
        protocol::{AttemptRow, ScaleRow},
    };

    fn lane() -> LaneRow {
        LaneRow {
            inner: Vec::new(),
            outcome: Outcome::Applied,
            loss_sums: Vec::new(),
            loss: GroupLoss::from_sums([]),
            logged_loss: 1.0,
            gradient_norm: 1.0,
            clip_norms: Vec::new(),
            scale: None,
            batch_norm: None,
            rate: 0.1,
            counters: Counters::default(),
            checksums: None,
            apart: None,
            replicas: ReplicaSpread::InStep,
        }
    }

    fn text(lane: &LaneRow) -> String {
        let mut out = Vec::new();
        beside(lane, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_update_has_a_loss_only_over_tokens() {
        let text = |sums: &[(f64, u64)]| {
            let lane = LaneRow {
                loss: GroupLoss::from_sums(sums.iter().copied()),
                counters: Counters {
                    applied_updates: 2,
                    ..Counters::default()
                },
                ..lane()
            };
            let mut out = Vec::new();
            outcome(&lane, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(&[(0.0, 0), (0.0, 0)]), "update 2 without any supervised token");
        assert_eq!(
            text(&[(6.0, 2), (4.0, 2)]),
            "update 2, loss 2.5000 over 4 tokens, 2.5000 as mean of means"
        );
    }

    #[test]
    fn what_a_loop_does_not_do_is_not_told() {
        assert_eq!(text(&lane()), "");
        let scaled = LaneRow {
            clip_norms: vec![3.0, 0.25],
            scale: Some(ScaleRow {
                used: 65536.0,
                next: 32768.0,
                growth_tracker: 0,
            }),
            counters: Counters {
                update_attempts: 5,
                applied_updates: 4,
                all_reduces: 5,
                all_reduced_bytes: 2048,
                ..Counters::default()
            },
            replicas: ReplicaSpread::Parted { largest: 0.5 },
            ..lane()
        };
        assert_eq!(
            text(&scaled),
            ", loss scale 65536, then 32768, 1 of 5 attempts skipped so far, norm 0.2500 at the clip, \
             5 all-reduces so far (2.0 KiB from each replica), replicas up to 5.0e-1 apart"
        );
        let attempt = |used, next| AttemptRow {
            after_index: 0,
            outcome: Outcome::Applied,
            gradient_norm: 1.0,
            clip_norms: Vec::new(),
            scale: Some(ScaleRow {
                used,
                next,
                growth_tracker: 0,
            }),
            rate: 0.1,
            counters: Counters::default(),
        };
        let stepped_inside = LaneRow {
            inner: vec![attempt(262_144.0, 131_072.0), attempt(131_072.0, 65536.0)],
            ..scaled
        };
        assert!(text(&stepped_inside).starts_with(", loss scale 262144, then 131072, then 65536, then 32768, 1 of 5"));
    }
}
