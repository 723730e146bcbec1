//! `cargo xtask bench`: how quick the product is, beside others that train the same and beside itself. `docs/speed.md` says what is measured.

pub mod against;
pub mod alone;
pub mod figures;
pub mod json;
pub mod own;
pub mod peers;
pub mod report;
pub mod site;

use std::{fs, path::PathBuf};

use against::{OURS_CPU, OURS_GPU, Results};
use json::Json;
use peers::{Call, ORT, Peers};
use report::Line;

use crate::{dist, install, tools};

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Build, then measure.
    All,
    /// Only build the pages that measure.
    Build,
    /// Measure what was built before.
    Measure,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Where the peers are; `None` for none.
    pub peers: Option<PathBuf>,
    /// Interleaved runs.
    pub runs: u32,
    /// One run of the smallest work and few updates, to see that all of it works.
    pub quick: bool,
    /// What to do of building and measuring.
    pub work: Work,
}

impl Options {
    /// From the words after `bench`.
    pub fn of(words: &[&str]) -> Result<Self, String> {
        let mut options = Self {
            peers: None,
            runs: 3,
            quick: false,
            work: Work::All,
        };
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            match word {
                "--build" => options.work = Work::Build,
                "--no-build" => options.work = Work::Measure,
                "--quick" => options.quick = true,
                "--peers" => options.peers = Some(words.next().ok_or("--peers needs a folder")?.into()),
                "--runs" => {
                    let runs = words.next().and_then(|text| text.parse().ok()).filter(|&runs| runs > 0);
                    options.runs = runs.ok_or("--runs needs a number from 1 on")?;
                }
                _ => return Err(format!("bench does not know {word:?}")),
            }
        }
        if options.quick {
            options.runs = 1;
        }
        Ok(options)
    }
}

/// Builds, measures, prints and writes target/bench/report.md and report.json. A bound that is not kept is no error: it is what was asked.
pub fn run(options: &Options) -> Result<(), String> {
    install::all(tools::FOR_BENCH)?;
    if options.work != Work::Measure {
        site::build()?;
    }
    if options.work == Work::Build {
        return Ok(());
    }
    let no_folder = || "no folder of peers was given (--peers DIR)".to_owned();
    let peers = options.peers.as_deref().ok_or_else(no_folder).and_then(Peers::prepare);
    if let Err(why) = &peers {
        println!("==> No peers: {why}");
    }
    let mut lines = against_peers(&peers, options);
    println!("==> Measuring the product against itself");
    lines.extend(alone::measured(&own::measure(options.quick)));
    lines.extend(alone::downloads(&dist()));
    write(&lines, &peers)
}

fn against_peers(peers: &Result<Peers, String>, options: &Options) -> Vec<Line> {
    let (updates, warmup) = if options.quick { (3, 1) } else { (12, 3) };
    let works: &[&str] = if options.quick { &["W1"] } else { &["W1", "W2"] };
    let bench = |call: Call| -> Results { peers.as_ref().map_err(Clone::clone)?.bench(&call) };
    let cpu = bench(Call {
        name: "cpu",
        works: &works.join(","),
        peers: &[ORT, "wasm-hand", "jax-wasm"],
        page: (OURS_CPU, "site-cpu"),
        runs: options.runs,
        updates,
        warmup,
        trace: false,
        quick: options.quick,
    });
    let on_webgpu = |name, runs, updates, warmup, trace| {
        bench(Call {
            name,
            works: "W1",
            peers: if trace {
                &["webgpu-hand"]
            } else {
                &["webgpu-hand", "jax-webgpu"]
            },
            page: (OURS_GPU, "site-gpu"),
            runs,
            updates,
            warmup,
            trace,
            quick: options.quick,
        })
    };
    let gpu = on_webgpu("webgpu", options.runs, updates, warmup, false);
    // Counts are the same on every run.
    let traced = on_webgpu("webgpu-calls", 1, 2, 1, true);
    let mut lines = against::cpu(&cpu, works);
    lines.extend(against::gpu(&gpu, &traced));
    lines
}

fn write(lines: &[Line], peers: &Result<Peers, String>) -> Result<(), String> {
    let table = report::table(lines);
    println!("\n{table}");
    let folder = site::folder();
    let document = Json::object([
        ("peers", peers.as_ref().map_or_else(String::as_str, |_| "there").into()),
        ("lines", report::json(lines)),
    ]);
    for (name, text) in [("report.md", &table), ("report.json", &document.to_string())] {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
        println!("written: {}", path.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Options;

    #[test]
    fn words_become_options() {
        let options = Options::of(&["--peers", "/a/b", "--runs", "5"]).unwrap();
        assert_eq!(
            (
                options.peers.as_deref().and_then(std::path::Path::to_str),
                options.runs,
                options.quick
            ),
            (Some("/a/b"), 5, false)
        );
        assert_eq!(Options::of(&["--runs", "5", "--quick"]).unwrap().runs, 1);
        for wrong in [&["--runs"][..], &["--runs", "0"], &["--peers"], &["fast"]] {
            assert!(Options::of(wrong).is_err(), "{wrong:?}");
        }
    }
}
