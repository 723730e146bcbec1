//! `lab fit`: the largest m that fits.

use std::{cell::RefCell, io::Write};

use microbatch_lab::{
    engine,
    protocol::{FitReport, FitTry},
};

use crate::{
    args::OnDevice,
    bytes,
    device::{self, failure},
    failure::Failure,
};

pub(crate) fn run(subject: &OnDevice, limit: u64, out: &mut impl Write) -> Result<(), Failure> {
    pollster::block_on(async {
        let ready = device::open(subject, out).await?;
        let told = RefCell::new(Ok(()));
        let report = {
            let out = RefCell::new(&mut *out);
            // Whoever reads no more waits for no more.
            let go_on = async |tried: Option<FitTry>| {
                let Some(tried) = tried else { return true };
                let said = writeln!(out.borrow_mut(), "{}", line(&tried));
                let heard = said.is_ok();
                *told.borrow_mut() = said;
                heard
            };
            engine::fit(&ready.device, &ready.setup, &ready.corpus, limit, &go_on).await
        };
        told.into_inner()?;
        print(&report.map_err(|fault| failure(subject, fault))?, out)
    })
}

fn line(tried: &FitTry) -> String {
    let (m, peak) = (tried.microbatch, bytes::text(tried.peak));
    if tried.fits {
        format!("m {m}: {peak}, fits")
    } else {
        format!("m {m}: {peak}, too much")
    }
}

fn print(report: &FitReport, out: &mut impl Write) -> Result<(), Failure> {
    let Some(split) = report.split else {
        return Err(Failure::NothingFits { limit: report.limit });
    };
    let (m, a, d) = (split.microbatch, split.accumulation, split.replicas);
    let kept = report.target - split.remainder;
    writeln!(out, "m {m} x A {a} x D {d} = {kept} examples an update")?;
    if split.remainder > 0 {
        let (missing, target) = (split.remainder, report.target);
        writeln!(out, "{missing} of {target} are left out of each update")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use microbatch_lab::protocol::FittingSplit;

    fn printed(split: Option<FittingSplit>) -> (String, Result<(), Failure>) {
        let report = FitReport {
            limit: 64 << 20,
            target: 64,
            tries: Vec::new(),
            split,
        };
        let mut out = Vec::new();
        let result = print(&report, &mut out);
        (String::from_utf8(out).unwrap(), result)
    }

    #[test]
    fn what_is_left_out_is_named() {
        let split = |microbatch, accumulation, remainder| {
            Some(FittingSplit {
                microbatch,
                accumulation,
                replicas: 2,
                remainder,
            })
        };
        assert_eq!(printed(split(4, 8, 0)).0, "m 4 x A 8 x D 2 = 64 examples an update\n");
        let (text, _) = printed(split(7, 4, 8));
        assert!(
            text.ends_with("= 56 examples an update\n8 of 64 are left out of each update\n"),
            "{text}"
        );
        let failure = printed(None).1.unwrap_err();
        assert_eq!(
            (failure.code(), failure.to_string().as_str()),
            (1, "not even m = 1 fits into 64.0 MiB")
        );
    }
}
