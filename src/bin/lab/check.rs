//! `lab check`: a few updates of a small controlled set, line by line.

use std::io::Write;

use microbatch_lab::{
    batch::LaneRule,
    engine,
    protocol::{CheckKind, PreflightCheck, PreflightReport},
    setup::lane_name,
};

use crate::{
    args::OnDevice,
    device::{self, failure},
    failure::Failure,
};

pub(crate) fn run(subject: &OnDevice, out: &mut impl Write) -> Result<(), Failure> {
    pollster::block_on(async {
        let ready = device::open(subject, out).await?;
        let report = engine::preflight(&ready.device, &ready.setup, &ready.corpus, &async || true)
            .await
            .map_err(|fault| failure(subject, fault))?;
        print(&ready.setup.lanes, &report, out)
    })
}

fn print(lanes: &[LaneRule], report: &PreflightReport, out: &mut impl Write) -> Result<(), Failure> {
    let checks = &report.checks;
    let name = |check: &PreflightCheck| {
        let lane = check.lane.and_then(|lane| lanes.get(usize::try_from(lane).ok()?));
        lane.map_or_else(|| "all lanes".to_owned(), |&rule| lane_name(rule))
    };
    let width = checks.iter().map(|check| name(check).len()).max().unwrap_or(0);
    for check in checks {
        let verdict = if check.passed { "pass" } else { "FAIL" };
        let (lane, what) = (name(check), words(check.kind));
        writeln!(out, "{verdict}  {lane:<width$}  {what:<39}  {}", numbers(check))?;
    }
    let failed = checks.iter().filter(|check| !check.passed).count();
    if report.passed() {
        writeln!(out, "{} checks passed", checks.len())?;
        return Ok(());
    }
    Err(Failure::ChecksFailed {
        failed,
        all: checks.len(),
    })
}

/// Counts as counts, and the rest as a number that is small or not.
fn numbers(check: &PreflightCheck) -> String {
    let number = |x: f64| {
        if x.is_finite() && x.fract() == 0.0 && x.abs() < 1e15 {
            format!("{x}")
        } else {
            format!("{x:.3e}")
        }
    };
    let (measured, expected) = (number(check.measured), number(check.expected));
    if check.tolerance > 0.0 {
        format!("{measured}, expected {expected} within {:.0e}", check.tolerance)
    } else {
        format!("{measured}, expected {expected}")
    }
}

fn words(kind: CheckKind) -> &'static str {
    match kind {
        CheckKind::SameExamples => "examples that every lane works on",
        CheckKind::Denominator => "denominator",
        CheckKind::FiniteGradients => "gradient elements that are not finite",
        CheckKind::GroupBoundary => "microbatches between two updates",
        CheckKind::ParametersStandStill => "bytes that move inside the group",
        CheckKind::AppliedUpdates => "applied updates",
        CheckKind::Examples => "examples counted",
        CheckKind::SupervisedTokens => "supervised tokens counted",
        CheckKind::FullBatchAgreement => "gradient off the full batch",
        CheckKind::OracleAgreement => "gradient off the f64 oracle",
        CheckKind::ReplicasInStep => "difference between replicas",
        CheckKind::AllReduces => "all-reduces of the update",
        CheckKind::NextGroup => "later gradients off the f64 oracle",
        CheckKind::PartialGroup => "applied updates of a partial group",
        CheckKind::LearningRate => "learning rate furthest off its schedule",
        CheckKind::LoggedLoss => "logged loss, against the trained one",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use microbatch_lab::batch::ConventionId;

    fn check(kind: CheckKind, lane: Option<u32>, measured: f64, passed: bool) -> PreflightCheck {
        PreflightCheck {
            kind,
            lane,
            measured,
            expected: 0.0,
            tolerance: if kind == CheckKind::FullBatchAgreement {
                1e-5
            } else {
                0.0
            },
            passed,
        }
    }

    fn printed(checks: Vec<PreflightCheck>) -> (String, Result<(), Failure>) {
        let lanes = [ConventionId::TokenWeighted.into(), ConventionId::MeanOfMeans.into()];
        let mut out = Vec::new();
        let result = print(&lanes, &PreflightReport { checks }, &mut out);
        (String::from_utf8(out).unwrap(), result)
    }

    #[test]
    fn one_failed_check_fails_the_command() {
        let good = check(CheckKind::SameExamples, None, 0.0, true);
        let bad = check(CheckKind::FullBatchAgreement, Some(1), 0.3333, false);
        let (text, result) = printed(vec![good.clone(), bad]);
        let failure = result.unwrap_err();
        assert_eq!(
            (failure.code(), failure.to_string().as_str()),
            (1, "1 of 2 checks failed")
        );
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[0].starts_with("pass  all lanes      examples that every lane works on"),
            "{text}"
        );
        assert!(
            lines[1].starts_with("FAIL  mean_of_means  gradient off the full batch"),
            "{text}"
        );
        assert!(lines[1].ends_with("3.333e-1, expected 0 within 1e-5"), "{text}");
        let (text, result) = printed(vec![good]);
        assert!(result.is_ok() && text.ends_with("1 checks passed\n"));
        assert!(printed(Vec::new()).1.is_err(), "nothing checked is nothing passed");
    }
}
