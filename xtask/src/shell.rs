//! Running other programs: say what, show what they say, say how long it took.

use std::{
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use crate::root;

/// What a program did.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Whether it ended with success.
    pub ok: bool,
    /// Tests it reported as passed.
    pub passed: u64,
    /// Tests it reported as failed.
    pub failed: u64,
    /// Wall time.
    pub took: Duration,
}

/// A command in the repository's root, free of what `cargo run` leaves in the environment, so that a program started from here builds
/// the same artefacts as one started by hand.
pub fn command(line: &str) -> Command {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).current_dir(root());
    for (name, _) in std::env::vars_os() {
        if let Some(name) = name.to_str()
            && (name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") || name == "CARGO")
        {
            command.env_remove(name);
        }
    }
    command
}

/// Runs with the output on screen. An error names the command.
pub fn run(title: &str, mut command: Command) -> Result<(), String> {
    let line = describe(&command);
    println!("==> {title}\n    {line}");
    let start = Instant::now();
    let status = command.status().map_err(|e| format!("cannot start `{line}`: {e}"))?;
    println!(
        "    {} in {}",
        if status.success() { "done" } else { "FAILED" },
        seconds(start.elapsed())
    );
    if status.success() {
        Ok(())
    } else {
        Err(format!("`{line}` ended with {status}"))
    }
}

/// What a program prints; what it complains of is on screen. An error names the command.
pub fn output(mut command: Command) -> Result<String, String> {
    let line = describe(&command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("cannot start `{line}`: {e}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("`{line}` ended with {}", output.status))
    }
}

/// Runs with the output on screen, and adds up the test results in it.
pub fn run_counting(title: &str, mut command: Command) -> Outcome {
    let line = describe(&command);
    println!("\n==> {title}\n    {line}");
    let start = Instant::now();
    let counts = Arc::new(Mutex::new((0, 0)));
    let ok = match command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() {
        Err(error) => {
            eprintln!("cannot start `{line}`: {error}");
            false
        }
        Ok(mut child) => {
            let stdout = child.stdout.take().map(|pipe| echo(pipe, Arc::clone(&counts)));
            let stderr = child.stderr.take().map(|pipe| echo(pipe, Arc::clone(&counts)));
            let status = child.wait();
            for thread in [stdout, stderr].into_iter().flatten() {
                let _joined = thread.join();
            }
            status.is_ok_and(|s| s.success())
        }
    };
    let (passed, failed) = counts.lock().map_or((0, 0), |c| *c);
    let took = start.elapsed();
    println!("    {} in {}", if ok { "ok" } else { "FAILED" }, seconds(took));
    Outcome {
        ok,
        passed,
        failed,
        took,
    }
}

fn echo(pipe: impl Read + Send + 'static, counts: Arc<Mutex<(u64, u64)>>) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            let _written = writeln!(std::io::stdout(), "{line}");
            if let (Some((passed, failed)), Ok(mut sum)) = (test_result(&line), counts.lock()) {
                sum.0 += passed;
                sum.1 += failed;
            }
        }
    })
}

/// Passed and failed of a line like `test result: ok. 12 passed; 0 failed; 0 ignored; ...`.
fn test_result(line: &str) -> Option<(u64, u64)> {
    let (_, counts) = line.split_once("test result:")?.1.split_once(". ")?;
    let number = |word: &str| {
        counts
            .split(';')
            .find_map(|part| part.trim().strip_suffix(word))
            .and_then(|n| n.trim().parse().ok())
    };
    Some((number("passed")?, number("failed")?))
}

/// First line of what a program prints, or `None` where it is missing or fails.
pub fn first_line(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(arguments)
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output
        .status
        .success()
        .then(|| text.lines().next().unwrap_or_default().trim().to_owned())
}

/// Whether a program of this name is on the PATH.
pub fn on_path(program: &str) -> bool {
    where_is(program).is_some()
}

/// The file of a program on the PATH.
pub fn where_is(program: &str) -> Option<PathBuf> {
    let file = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|dir| dir.join(&file))
        .find(|file| is_file(file))
}

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|m| m.is_file())
}

/// `75 s` or `3 min 05 s`.
pub fn seconds(duration: Duration) -> String {
    let all = duration.as_secs();
    if all < 100 {
        format!("{:.1} s", duration.as_secs_f64())
    } else {
        format!("{} min {:02} s", all / 60, all % 60)
    }
}

fn describe(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|w| w.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{command, output, run, run_counting, seconds, test_result};

    #[test]
    fn reads_the_results_of_cargo_and_of_the_wasm_runner() {
        let cargo = "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        assert_eq!(test_result(cargo), Some((12, 0)));
        assert_eq!(
            test_result("test result: FAILED. 3 passed; 2 failed; 0 ignored"),
            Some((3, 2))
        );
        assert_eq!(test_result("test units::sum ... ok"), None);
    }

    #[test]
    fn a_failing_program_is_a_failure() {
        assert!(!run_counting("no such program", command("surely-not-a-program")).ok);
        assert!(!run_counting("bad argument", command("cargo surely-not-a-command")).ok);
        assert!(run("bad argument", command("cargo surely-not-a-command")).is_err());
        assert!(output(command("cargo surely-not-a-command")).is_err());
        assert!(output(command("cargo --version")).unwrap().starts_with("cargo "));
    }

    #[test]
    fn durations_read_well() {
        assert_eq!(seconds(Duration::from_millis(1500)), "1.5 s");
        assert_eq!(seconds(Duration::from_secs(185)), "3 min 05 s");
    }
}
