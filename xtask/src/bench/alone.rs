//! Lines that compare the product with itself, and what it sends over the wire.

use std::{fs, path::Path, process::Command};

use super::{
    against::Results,
    figures::{certain_growth, median, off_a_line, paired_ratio},
    json::Json,
    report::{Bound, Line, shown},
};
use crate::{finish::WORKERS, sizes::in_first_paint};

/// Lines of what the bench page measured on its own.
pub fn measured(results: &Results) -> Vec<Line> {
    let find = |name: &str| -> Result<&Json, String> {
        let all = results.as_ref().map_err(Clone::clone)?;
        let found = all.iter().find(|line| line.get("name").text() == Some(name));
        let found = found.ok_or_else(|| format!("{name} was not measured"))?;
        found
            .get("fault")
            .text()
            .map_or(Ok(found), |fault| Err(fault.to_owned()))
    };
    let ratio = |title: &str, name: &str, above: &str, below: &str, limit: f64| {
        let both = find(name).map(|line| (line.get(above).numbers(), line.get(below).numbers()));
        Line {
            name: title.to_owned(),
            bound: Bound::AtMost(limit),
            unit: "",
            from: both.as_ref().map_or_else(
                |_| String::new(),
                |(above, below)| {
                    let middle = |of: &[f64]| median(of).map_or_else(String::new, shown);
                    format!(
                        "{} against {} ms, {} times in turns",
                        middle(above),
                        middle(below),
                        above.len()
                    )
                },
            ),
            figure: both.and_then(|(above, below)| paired_ratio(&above, &below).ok_or_else(|| "no samples".to_owned())),
        }
    };
    // Not held to anything: who asks for it asks for a second computation.
    let in_one_pass = |name: &str| {
        let line = find(name).ok()?;
        let ratio = paired_ratio(&line.get("in_one_pass").numbers(), &line.get("beside").numbers())?;
        Some(format!("; with the full batch in one pass {} of it", shown(ratio)))
    };
    let probe = |title: &str, name: &str| {
        let line = ratio(title, name, "probe", "one", 1.15);
        Line {
            from: line.from.clone() + &in_one_pass(name).unwrap_or_default(),
            ..line
        }
    };
    vec![
        probe("probe / an update of one convention, default experiment", "probe"),
        probe("probe / an update of one convention, W1", "probe_w1"),
        ratio("update of 4 lanes / of one, W1", "lanes", "four", "one", 4.1),
        linear(find("linear")),
        memory(find("memory")),
        growth(find("growth")),
    ]
}

fn linear(line: Result<&Json, String>) -> Line {
    let points = line.map(|line| {
        // Other work on the machine only ever adds.
        let least = |ms: &Json| ms.numbers().into_iter().reduce(f64::min).unwrap_or(f64::NAN);
        let ms: Vec<f64> = line.get("ms").list().iter().map(least).collect();
        (line.get("microbatches").numbers(), ms)
    });
    let from = points.as_ref().map_or_else(
        |_| String::new(),
        |(sizes, ms)| {
            let point = |(size, ms): (&f64, &f64)| format!("{size}: {} ms", shown(*ms));
            sizes.iter().zip(ms).map(point).collect::<Vec<_>>().join(", ")
        },
    );
    Line {
        name: "ms an update off a straight line in m x A x D, 8 to 512 microbatches".to_owned(),
        bound: Bound::AtMost(5.0),
        unit: " %",
        figure: points
            .and_then(|(sizes, ms)| off_a_line(&sizes, &ms).ok_or_else(|| "not a number at every size".to_owned()))
            .map(|off| off * 100.0),
        from,
    }
}

fn memory(line: Result<&Json, String>) -> Line {
    let peaks = line.map(|line| ["one", "sixty_four"].map(|name| line.get(name).number().filter(|&bytes| bytes > 0.0)));
    let peaks = peaks.and_then(|[one, many]| one.zip(many).ok_or_else(|| "no bytes were counted".to_owned()));
    Line {
        name: "peak bytes at A = 64 / at A = 1".to_owned(),
        bound: Bound::AtMost(1.02),
        unit: "",
        from: peaks
            .as_ref()
            .map_or_else(|_| String::new(), |(one, many)| format!("{many} against {one} bytes")),
        figure: peaks.map(|(one, many)| many / one),
    }
}

fn growth(line: Result<&Json, String>) -> Line {
    let points = line.map(|line| {
        // A run's first tenth is left out: what is made once is made there.
        let later = |name: &str| {
            let all = line.get(name).numbers();
            all.get(all.len() / 10..).unwrap_or_default().to_vec()
        };
        (later("updates"), later("bytes"))
    });
    let from = points.as_ref().map_or_else(
        |_| String::new(),
        |(updates, bytes)| {
            let ends = |of: &[f64]| of.first().zip(of.last()).map_or((0.0, 0.0), |(a, z)| (*a, *z));
            let (first, last) = (ends(updates), ends(bytes));
            format!(
                "{} bytes after {} updates, {} after {}",
                last.0, first.0, last.1, first.1
            )
        },
    );
    Line {
        name: "growth of bytes in use over a long run, less twice its standard error".to_owned(),
        bound: Bound::AtMost(0.0),
        unit: " bytes an update",
        figure: points.and_then(|(updates, bytes)| {
            if bytes.iter().any(|&bytes| bytes <= 0.0) {
                return Err("no bytes were counted".to_owned());
            }
            certain_growth(&updates, &bytes).ok_or_else(|| "too few points".to_owned())
        }),
        from,
    }
}

/// Lines of what a visitor downloads from `site`, in bytes as brotli makes them at its best.
pub fn downloads(site: &Path) -> Vec<Line> {
    let names = fs::read_dir(site).into_iter().flatten().flatten();
    let names: Vec<String> = names
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| [".wasm", ".js", ".css"].iter().any(|end| name.ends_with(end)) || name == "index.html")
        .collect();
    let is_worker = |name: &str, worker: &str| name.starts_with(worker);
    let line = |title: &str, limit: f64, wanted: &dyn Fn(&str) -> bool| {
        let chosen: Vec<&String> = names.iter().filter(|name| wanted(name)).collect();
        let sizes: Result<Vec<f64>, String> = chosen.iter().map(|name| brotli(&site.join(name))).collect();
        Line {
            name: title.to_owned(),
            bound: Bound::AtMost(limit),
            unit: " bytes",
            figure: match sizes {
                Ok(sizes) if sizes.is_empty() => Err("the site is not built".to_owned()),
                Ok(sizes) => Ok(sizes.into_iter().sum()),
                Err(why) => Err(why),
            },
            from: format!("{} files, brotli 11", chosen.len()),
        }
    };
    vec![
        line("download until first paint", 350e3, &in_first_paint),
        line("download of the CPU engine", 1e6, &|name| is_worker(name, WORKERS[0])),
        line("download of the WebGPU engine", 2.5e6, &|name| {
            is_worker(name, WORKERS[1])
        }),
    ]
}

/// Bytes of a file after brotli at its best.
fn brotli(path: &Path) -> Result<f64, String> {
    let output = Command::new("brotli").args(["-q", "11", "-c"]).arg(path).output();
    let output = output.map_err(|e| format!("brotli: {e}"))?;
    if output.status.success() {
        Ok(output.stdout.len() as f64)
    } else {
        Err(format!("brotli cannot read {}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::{downloads, measured};
    use crate::bench::{
        json::Json,
        report::{Line, Verdict},
    };

    fn told(lines: &[&str]) -> Vec<Json> {
        lines.iter().map(|line| Json::read(line).unwrap()).collect()
    }

    fn line<'a>(lines: &'a [Line], name: &str) -> &'a Line {
        lines.iter().find(|line| line.name.contains(name)).unwrap()
    }

    #[test]
    fn what_the_page_tells_becomes_lines() {
        let lines = measured(&Ok(told(&[
            r#"{"name":"probe","one":[10,20,10],"probe":[11.5,22,14]}"#,
            r#"{"name":"probe_w1","fault":"the device was lost"}"#,
            r#"{"name":"lanes","one":[10,10,10],"four":[41,42,40]}"#,
            r#"{"name":"linear","microbatches":[8,16,32],"ms":[[9,10,9],[17,18,17],[33,33,40]]}"#,
            r#"{"name":"memory","one":1000,"sixty_four":1021}"#,
            r#"{"name":"growth","updates":[1,2,3,4,5,6,7,8,9,10],"bytes":[0,7,7,7,7,7,7,7,7,7]}"#,
        ])));
        let verdict = |name: &str| line(&lines, name).verdict();
        assert_eq!(line(&lines, "default experiment").figure, Ok(1.15));
        assert_eq!(verdict("default experiment"), Verdict::Pass);
        assert_eq!(
            line(&lines, "one convention, W1").figure,
            Err("the device was lost".to_owned())
        );
        assert_eq!(verdict("4 lanes"), Verdict::Pass);
        assert!(line(&lines, "straight line").figure.clone().unwrap() < 1e-9);
        assert_eq!(verdict("peak bytes"), Verdict::Short);
        assert_eq!(verdict("growth"), Verdict::Pass);
    }

    #[test]
    fn bytes_that_were_not_counted_are_no_figure() {
        let lines = measured(&Ok(told(&[
            r#"{"name":"memory","one":0,"sixty_four":0}"#,
            r#"{"name":"growth","updates":[1,2,3,4,5,6,7,8,9,10],"bytes":[0,0,0,0,0,0,0,0,0,0]}"#,
        ])));
        assert_eq!(line(&lines, "growth").verdict(), Verdict::NotRun);
        assert_eq!(line(&lines, "peak bytes").verdict(), Verdict::NotRun);
        assert_eq!(line(&lines, "4 lanes").figure, Err("lanes was not measured".to_owned()));
        let none = measured(&Err("no browser".to_owned()));
        assert!(none.iter().all(|line| line.figure == Err("no browser".to_owned())));
    }

    #[test]
    fn a_site_that_is_not_there_has_no_size() {
        let lines = downloads(&std::env::temp_dir().join("no such site"));
        assert!(lines.iter().all(|line| line.verdict() == Verdict::NotRun));
    }
}
