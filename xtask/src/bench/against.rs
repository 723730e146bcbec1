//! Lines that compare the product with its peers, from the results of the benchmark that they share.

use super::{
    figures::{largest, median, paired_ratio},
    json::Json,
    peers::ORT,
    report::{Bound, Line},
};

/// Our page on the CPU device, and on WebGPU, as the shared benchmark calls them.
pub const OURS_CPU: &str = "ours-cpu";
/// See [`OURS_CPU`].
pub const OURS_GPU: &str = "ours-gpu";

/// Calls that WebGPU is asked for; the benchmark counts other things, too.
const CALLS: [&str; 10] = [
    "dispatch",
    "pass",
    "submit",
    "map",
    "write",
    "bindGroup",
    "buffer",
    "copy",
    "pipeline",
    "shaders",
];

/// Losses of the same training in plain f64, by work.
const EXACT: &str = include_str!("../../../bench/f64-losses.json");

/// The largest difference between two losses of the same training in float32.
const LOSS: f64 = 1e-5;

/// The results of one call of the shared benchmark, or why there are none.
pub type Results = Result<Vec<Json>, String>;

/// Lines of the CPU device.
pub fn cpu(results: &Results, works: &[&str]) -> Vec<Line> {
    let run = Run {
        results,
        ours: OURS_CPU,
    };
    let mut lines = Vec::new();
    for work in works {
        lines.push(run.ratio(work, "medianMs", ORT, 1.0));
        lines.push(run.ratio(work, "medianMs", "wasm-hand", 1.4));
        lines.push(run.losses(work));
        lines.push(run.exact_losses(work));
    }
    lines.push(run.ratio("W1", "coldMs", "jax-wasm", 0.5));
    lines.push(run.longest_task(works));
    lines
}

/// Lines of WebGPU; `traced` are the results with its calls counted.
pub fn gpu(results: &Results, traced: &Results) -> Vec<Line> {
    let run = Run {
        results,
        ours: OURS_GPU,
    };
    let trace = Run {
        results: traced,
        ours: OURS_GPU,
    };
    vec![
        run.ratio("W1", "medianMs", "jax-webgpu", 0.5),
        run.ratio("W1", "medianMs", "webgpu-hand", 1.3),
        trace.calls("calls", &CALLS),
        trace.calls("dispatches", &["dispatch"]),
        run.losses("W1"),
        run.exact_losses("W1"),
        run.ratio("W1", "coldMs", "jax-webgpu", 0.5),
        run.longest_task(&["W1"]),
    ]
}

struct Run<'a> {
    results: &'a Results,
    ours: &'a str,
}

impl Run<'_> {
    /// A number of every run of a peer, in order; why there is none where one failed.
    fn all(&self, peer: &str, work: &str, number: impl Fn(&Json) -> Option<f64>) -> Result<Vec<f64>, String> {
        let results = self.results.as_ref().map_err(Clone::clone)?;
        let is = |result: &&Json| result.get("peer").text() == Some(peer) && result.get("work").text() == Some(work);
        let mut numbers = Vec::new();
        for result in results.iter().filter(is) {
            if let Some(error) = result.get("error").text() {
                return Err(format!("{peer} {work}: {error}"));
            }
            numbers.push(number(result).ok_or_else(|| format!("{peer} {work}: the number is not there"))?);
        }
        if numbers.is_empty() {
            return Err(format!("{peer} {work} was not run"));
        }
        Ok(numbers)
    }

    fn ratio(&self, work: &str, field: &str, peer: &str, limit: f64) -> Line {
        let number = |result: &Json| result.get(field).number();
        let both = self
            .all(self.ours, work, number)
            .and_then(|ours| Ok((ours, self.all(peer, work, number)?)));
        let from = both.as_ref().map_or_else(
            |_| String::new(),
            |(ours, other)| format!("{} against {} ms", list(ours), list(other)),
        );
        let figure = both.and_then(|(ours, other)| paired_ratio(&ours, &other).ok_or_else(|| "no runs".to_owned()));
        let what = if field == "coldMs" {
            "first update since navigation"
        } else {
            "ms an update"
        };
        Line {
            name: format!("{work} {}: {what} / {peer}", device(self.ours)),
            bound: Bound::AtMost(limit),
            unit: "",
            figure,
            from,
        }
    }

    fn losses(&self, work: &str) -> Line {
        let errors = self.all(self.ours, work, |result| result.get("lossErr").number());
        Line {
            name: format!("{work} {}: largest loss error", device(self.ours)),
            bound: Bound::AtMost(LOSS),
            unit: "",
            from: errors
                .as_ref()
                .map_or_else(|_| String::new(), |all| format!("{} runs", all.len())),
            figure: errors.and_then(|all| largest(&all).ok_or_else(|| "no runs".to_owned())),
        }
    }

    /// Against the same training in plain f64, `tests/f64_losses.rs`: the peers' reference is itself a sum in float32.
    fn exact_losses(&self, work: &str) -> Line {
        let exact = Json::read(EXACT).map(|all| all.get(work).numbers());
        let apart = |result: &Json| -> Vec<f64> {
            let ours = result.get("losses").numbers();
            let exact = exact.as_deref().unwrap_or_default();
            ours.iter().zip(exact).map(|(a, b)| (a - b).abs()).collect()
        };
        let errors = self.all(self.ours, work, |result| largest(&apart(result)));
        let compared = self.all(self.ours, work, |result| Some(apart(result).len() as f64));
        let from = compared.map_or_else(
            |_| String::new(),
            |counts| {
                let least = counts.iter().copied().fold(f64::INFINITY, f64::min);
                format!("{} runs, the first {least} updates at least", counts.len())
            },
        );
        Line {
            name: format!("{work} {}: largest loss error against f64", device(self.ours)),
            bound: Bound::AtMost(LOSS),
            unit: "",
            figure: errors.and_then(|all| largest(&all).ok_or_else(|| "no runs".to_owned())),
            from,
        }
    }

    fn longest_task(&self, works: &[&str]) -> Line {
        let task = |result: &Json| result.get("longestTaskMs").number();
        let tasks: Result<Vec<Vec<f64>>, String> = works.iter().map(|work| self.all(self.ours, work, task)).collect();
        let tasks = tasks.map(|all| all.concat());
        Line {
            name: format!("{}: longest task of the page's main thread", device(self.ours)),
            bound: Bound::Below(50.0),
            unit: " ms",
            from: tasks.as_ref().map_or_else(|_| String::new(), |all| list(all)),
            figure: tasks.and_then(|all| largest(&all).ok_or_else(|| "no runs".to_owned())),
        }
    }

    /// Our calls over those of the kernels written by hand.
    fn calls(&self, what: &str, fields: &[&str]) -> Line {
        let peer = "webgpu-hand";
        let sum = |result: &Json| {
            let calls = result.get("gpuPerUpdate");
            fields
                .iter()
                .map(|field| calls.get(field).number())
                .sum::<Option<f64>>()
                // Nobody trains without a call: then nothing was counted.
                .filter(|&calls| calls > 0.0)
        };
        let middle = |all: Vec<f64>| median(&all).ok_or_else(|| "no runs".to_owned());
        let ours = self.all(self.ours, "W1", sum).and_then(middle);
        let theirs = self.all(peer, "W1", sum).and_then(middle);
        let both = ours.and_then(|ours| Ok((ours, theirs?)));
        Line {
            name: format!("W1 WebGPU: {what} an update / {peer}"),
            bound: Bound::AtMost(1.0),
            unit: "",
            from: both
                .as_ref()
                .map_or_else(|_| String::new(), |(ours, theirs)| format!("{ours} against {theirs}")),
            figure: both.map(|(ours, theirs)| ours / theirs),
        }
    }
}

fn device(page: &str) -> &'static str {
    if page == OURS_GPU { "WebGPU" } else { "CPU" }
}

fn list(numbers: &[f64]) -> String {
    let words: Vec<String> = numbers.iter().map(|number| super::report::shown(*number)).collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::{cpu, gpu};
    use crate::bench::{
        json::Json,
        report::{Line, Verdict},
    };

    /// As the shared benchmark writes them, cut to what is read.
    const SAMPLE: &str = include_str!("sample.json");

    fn sample() -> Vec<Json> {
        Json::read(SAMPLE).unwrap().get("results").list().to_vec()
    }

    fn line<'a>(lines: &'a [Line], name: &str) -> &'a Line {
        lines.iter().find(|line| line.name.contains(name)).unwrap()
    }

    #[test]
    fn ratios_are_of_runs_side_by_side() {
        let lines = cpu(&Ok(sample()), &["W1"]);
        // 100/100, 150/120 and 90/100.
        let ort = line(&lines, "ms an update / ort-training");
        assert_eq!((ort.figure.clone(), ort.verdict()), (Ok(1.0), Verdict::Pass));
        // 100/80, 150/100 and 90/60.
        let hand = line(&lines, "wasm-hand");
        assert_eq!((hand.figure.clone(), hand.verdict()), (Ok(1.5), Verdict::Short));
        assert_eq!(hand.from, "100, 150, 90 against 80, 100, 60 ms");
        assert_eq!(line(&lines, "loss error").figure, Ok(9e-6));
        let exact = line(&lines, "loss error against f64");
        assert_eq!(exact.verdict(), Verdict::Short, "losses of other work");
        assert!(exact.figure.as_ref().is_ok_and(|&error| error > 3.0), "{exact:?}");
        let task = line(&lines, "longest task");
        assert_eq!((task.figure.clone(), task.verdict()), (Ok(51.0), Verdict::Short));
    }

    #[test]
    fn what_failed_is_not_run_and_says_why() {
        let lines = cpu(&Ok(sample()), &["W1", "W2"]);
        let cold = line(&lines, "jax-wasm");
        assert_eq!(cold.verdict(), Verdict::NotRun);
        assert!(cold.figure.as_ref().unwrap_err().contains("timeout"));
        let missing = line(&lines, "W2 CPU: ms an update / ort-training");
        assert_eq!(missing.figure, Err("ours-cpu W2 was not run".to_owned()));
        let none = cpu(&Err("no peers".to_owned()), &["W1"]);
        assert!(none.iter().all(|line| line.figure == Err("no peers".to_owned())));
    }

    #[test]
    fn calls_that_were_not_counted_are_no_figure() {
        let uncounted = SAMPLE.replace("\"dispatch\": 90", "\"dispatch\": 0");
        let results = Json::read(&uncounted).unwrap().get("results").list().to_vec();
        let lines = gpu(&Ok(sample()), &Ok(results));
        assert_eq!(line(&lines, "dispatches").verdict(), Verdict::NotRun);
    }

    #[test]
    fn calls_are_added_up() {
        let lines = gpu(&Ok(sample()), &Ok(sample()));
        let calls = line(&lines, "calls an update");
        assert_eq!(
            (calls.from.as_str(), calls.verdict()),
            ("210 against 200", Verdict::Short)
        );
        let dispatches = line(&lines, "dispatches");
        assert_eq!(
            (dispatches.from.as_str(), dispatches.verdict()),
            ("90 against 90", Verdict::Pass)
        );
    }
}
