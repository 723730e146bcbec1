//! `cargo xtask test`: every check and test, the quick ones first, and the counts at the end.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use crate::{
    bench, build, dist,
    shell::{self, Outcome, command, run_counting, seconds},
    sizes,
};

/// Deny warnings without changing RUSTFLAGS, which would build everything anew.
const STRICT: &str = "-- -D warnings";

enum Work {
    Command(String),
    Site,
    Sizes,
    BenchPage,
    /// A command whose tests run in Chromium, whichever other browser is there.
    InChromium(String),
}

struct Step {
    name: &'static str,
    work: Work,
}

/// In the order of what they cost.
///
/// Native ones share the dev profile. Browser tests run with the profile and the features that trunk builds the site with, so that they
/// find all dependencies built.
fn steps() -> Vec<Step> {
    let step = |name, line: String| Step {
        name,
        work: Work::Command(line),
    };
    let browser = |name, features, test| {
        step(
            name,
            format!("wasm-pack test --headless --chrome --release -- --features {features} --test {test}"),
        )
    };
    let mut steps = vec![
        step("format", "cargo fmt --all --check".to_owned()),
        step("xtask-lints", format!("cargo clippy -p xtask --all-targets {STRICT}")),
        step("xtask-tests", "cargo test -p xtask --no-fail-fast".to_owned()),
        step(
            "kernels-lints",
            format!("cargo clippy -p microbatch-kernels --all-targets {STRICT}"),
        ),
        step(
            "kernels-tests",
            "cargo test -p microbatch-kernels --no-fail-fast".to_owned(),
        ),
        step("pure-lints", format!("cargo clippy --all-targets {STRICT}")),
        step("pure-tests", "cargo test --no-fail-fast".to_owned()),
        step(
            "engine-lints",
            format!("cargo clippy --all-targets --features engine {STRICT}"),
        ),
        step("engine-tests", "cargo test --no-fail-fast --features engine".to_owned()),
        step(
            "page-lints",
            format!("cargo clippy --target wasm32-unknown-unknown --bin app --bin bench --features ui,bench {STRICT}"),
        ),
        Step {
            name: "site",
            work: Work::Site,
        },
        Step {
            name: "sizes",
            work: Work::Sizes,
        },
        // Not by wasm-pack, which builds all test files first: the page's profile links each of them as a whole.
        Step {
            name: "browser-page",
            work: Work::InChromium(
                "cargo test --no-fail-fast --profile page --target wasm32-unknown-unknown --features ui --test web_ui"
                    .to_owned(),
            ),
        },
        browser("browser-cpu", "worker,cpu", "web_cpu"),
        browser("browser-gpu", "worker,gpu", "web_gpu"),
        step("stories-lints", format!("cargo clippy -p e2e --all-targets {STRICT}")),
        Step {
            name: "bench-page",
            work: Work::BenchPage,
        },
        step(
            "stories",
            "cargo test -p e2e --no-fail-fast -- --test-threads=1".to_owned(),
        ),
    ];
    if shell::first_line("cargo", &["deny", "--version"]).is_some() {
        steps.insert(1, step("licences", "cargo deny check licenses bans sources".to_owned()));
    }
    steps
}

/// Runs all steps, or those from the one named `from` on. An error where any failed.
pub fn run_all(from: Option<&str>) -> Result<(), String> {
    let all = steps();
    let first = match from {
        None => 0,
        Some(name) => all
            .iter()
            .position(|s| s.name == name)
            .ok_or_else(|| unknown(name, &all))?,
    };
    let start = Instant::now();
    let mut results = Vec::new();
    for step in all.iter().skip(first) {
        let outcome = match &step.work {
            Work::Command(line) => run_counting(step.name, command(line)),
            Work::InChromium(line) => run_counting(step.name, in_chromium(command(line))),
            Work::Site => built(build::build_if_stale),
            Work::Sizes => built(|| sizes::check(&dist())),
            Work::BenchPage => built(bench::site::build),
        };
        results.push((step.name, outcome));
    }
    summarise(&results, start.elapsed())
}

/// What runs wasm tests takes the first driver that it finds, of any browser, unless it is told.
fn in_chromium(mut command: Command) -> Command {
    for other in [
        "GECKODRIVER",
        "SAFARIDRIVER",
        "GECKODRIVER_REMOTE",
        "SAFARIDRIVER_REMOTE",
    ] {
        command.env_remove(other);
    }
    if std::env::var_os("CHROMEDRIVER").is_none()
        && let Some(driver) = shell::where_is("chromedriver")
    {
        command.env("CHROMEDRIVER", driver);
    }
    command
}

fn built(build: impl FnOnce() -> Result<(), String>) -> Outcome {
    let start = Instant::now();
    let result = build();
    if let Err(message) = &result {
        eprintln!("{message}");
    }
    Outcome {
        ok: result.is_ok(),
        passed: 0,
        failed: 0,
        took: start.elapsed(),
    }
}

fn unknown(name: &str, all: &[Step]) -> String {
    let names: Vec<&str> = all.iter().map(|s| s.name).collect();
    format!("no step is called {name:?}; there are: {}", names.join(", "))
}

/// The table and the closing line.
fn summarise(results: &[(&str, Outcome)], took: Duration) -> Result<(), String> {
    println!("\n{:16} {:>8} {:>8} {:>8}  took", "step", "", "passed", "failed");
    for (name, outcome) in results {
        let verdict = if outcome.ok { "ok" } else { "FAILED" };
        println!(
            "{name:16} {verdict:>8} {:>8} {:>8}  {}",
            outcome.passed,
            outcome.failed,
            seconds(outcome.took)
        );
    }
    let (passed, failed) = totals(results.iter().map(|(_, outcome)| outcome));
    let bad: Vec<&str> = results.iter().filter(|(_, o)| !o.ok).map(|(name, _)| *name).collect();
    println!("\n{} steps in {}", results.len(), seconds(took));
    println!("{passed} passed, {failed} failed");
    if bad.is_empty() && failed == 0 {
        Ok(())
    } else {
        Err(format!("failed: {}", bad.join(", ")))
    }
}

/// Adds up tests. A step without tests of its own counts as one check; a step that failed for another reason than a test, as one failure.
fn totals<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> (u64, u64) {
    outcomes.fold((0, 0), |(passed, failed), o| {
        let as_check = u64::from(o.ok && o.passed + o.failed == 0);
        let as_failure = u64::from(!o.ok && o.failed == 0);
        (passed + o.passed + as_check, failed + o.failed + as_failure)
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{run_all, summarise, totals};
    use crate::shell::Outcome;

    const fn outcome(ok: bool, passed: u64, failed: u64) -> Outcome {
        Outcome {
            ok,
            passed,
            failed,
            took: Duration::ZERO,
        }
    }

    #[test]
    fn every_failure_counts() {
        let all = [
            outcome(true, 12, 0),
            outcome(true, 0, 0),
            outcome(false, 3, 2),
            outcome(false, 0, 0),
        ];
        assert_eq!(totals(all.iter()), (16, 3));
        assert!(summarise(&[("a", outcome(true, 1, 0))], Duration::ZERO).is_ok());
        assert!(summarise(&[("a", outcome(false, 1, 0))], Duration::ZERO).is_err());
        assert!(summarise(&[("a", outcome(true, 1, 1))], Duration::ZERO).is_err());
    }

    #[test]
    fn an_unknown_step_is_refused() {
        assert!(run_all(Some("no-such-step")).unwrap_err().contains("engine-tests"));
    }
}
