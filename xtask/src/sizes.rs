//! How large the site is, as it lies on disk and as it travels, and the most that may travel before the page is seen.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{
    finish::WORKERS,
    halves::{LATER, PAGE},
};

/// The most that the first paint may fetch, in bytes of brotli: what is reached (see docs/adr/012-small-page.md), and a percent, so that a
/// part that comes back from the second half does not go unseen. 350 000 was the aim.
const FIRST_PAINT: usize = 333_000;

/// What the first paint of the site in `folder` fetches, against its bound. An error where it is over, and where it was not measured.
pub fn check(folder: &Path) -> Result<(), String> {
    println!("{}", judge(first_paint(folder)?)?);
    Ok(())
}

fn first_paint(folder: &Path) -> Result<Option<usize>, String> {
    let sizes = files(folder)?.into_iter().filter_map(|path| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        in_first_paint(&name).then(|| compressed("brotli", &["--quality=11", "-c"], &fs::read(&path).ok()?))
    });
    let sizes: Option<Vec<usize>> = sizes.collect();
    Ok(sizes.map(|sizes| sizes.into_iter().sum()))
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .map_err(|e| format!("cannot read {}: {e}", folder.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|e| e == "wasm" || e == "js" || e == "css" || e == "html")
        })
        .collect();
    files.sort();
    Ok(files)
}

/// Prints raw, gzip and brotli sizes of every wasm, JavaScript and style file in `folder`, what the first paint fetches, and what the page
/// fetches right after it. A size over its bound is only told here, so that whoever builds with another compiler still has a site;
/// [`check`] refuses it.
pub fn report(folder: &Path) -> Result<(), String> {
    println!(
        "{:>12} {:>12} {:>12}  file (bytes; gzip -9, brotli -q 11 for the page, -q 9 for workers)",
        "raw", "gzip", "brotli"
    );
    let (mut first, mut after) = (Some(0), Some(0));
    for path in files(folder)? {
        let content = fs::read(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        let name = path
            .file_name()
            .map(|n| n.to_string_lossy().into_owned())
            .unwrap_or_default();
        // The best level takes half a minute for the workers, and their sizes are only told.
        let level = if of_worker(&name) {
            "--quality=9"
        } else {
            "--quality=11"
        };
        let brotli = compressed("brotli", &[level, "-c"], &content);
        let sum = if in_first_paint(&name) {
            Some(&mut first)
        } else if of_worker(&name) {
            None
        } else {
            Some(&mut after)
        };
        if let Some(sum) = sum {
            *sum = sum.zip(brotli).map(|(sum, size)| sum + size);
        }
        println!(
            "{:>12} {:>12} {:>12}  {name}",
            grouped(content.len()),
            told(compressed("gzip", &["-9", "-c"], &content)),
            told(brotli)
        );
    }
    println!("{}", judge(first).unwrap_or_else(|why| why));
    println!("what it fetches right after: {} in brotli", told(after));
    Ok(())
}

/// Whether a file is fetched before the page is seen: all but the workers with what starts them, and the page's second half.
pub(crate) fn in_first_paint(name: &str) -> bool {
    let second_half = name.starts_with(PAGE) && name.ends_with(LATER);
    !second_half && !of_worker(name)
}

fn of_worker(name: &str) -> bool {
    WORKERS.iter().any(|worker| name.starts_with(worker))
}

/// What to say of the first paint's size, `None` where it could not be measured; an error then, and where it is over the bound.
fn judge(first: Option<usize>) -> Result<String, String> {
    let bound = grouped(FIRST_PAINT);
    match first {
        None | Some(0) => Err(format!(
            "first paint: not measured, since brotli or the site is missing; the bound is {bound}"
        )),
        Some(size) if size <= FIRST_PAINT => Ok(format!("first paint: {} in brotli, of {bound}", grouped(size))),
        Some(size) => Err(format!(
            "the first paint fetches {} bytes of brotli, more than the {bound} it may (xtask/src/sizes.rs)",
            grouped(size)
        )),
    }
}

fn told(size: Option<usize>) -> String {
    size.map_or_else(|| "-".to_owned(), grouped)
}

/// Size after `program`, or nothing where that program is missing.
fn compressed(program: &str, arguments: &[&str], content: &[u8]) -> Option<usize> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut pipe = child.stdin.take()?;
    std::thread::scope(|scope| {
        // Written from a second thread, since the program fills its own output pipe meanwhile.
        let writer = scope.spawn(move || pipe.write_all(content).is_ok());
        let output = child.wait_with_output().ok()?;
        let written = writer.join().unwrap_or(false);
        (written && output.status.success()).then_some(output.stdout.len())
    })
}

/// `1234567` as `1 234 567`.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{FIRST_PAINT, compressed, grouped, in_first_paint, judge};

    #[test]
    fn digits_come_in_threes() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1 234 567");
    }

    #[test]
    fn a_missing_program_measures_nothing() {
        assert_eq!(compressed("surely-not-a-program", &[], b"abc"), None);
    }

    #[test]
    fn the_first_paint_has_a_bound() {
        assert!(judge(Some(FIRST_PAINT)).is_ok());
        assert!(judge(Some(FIRST_PAINT + 1)).is_err());
        for nothing in [None, Some(0)] {
            assert!(judge(nothing).unwrap_err().contains("not measured"));
        }
    }

    #[test]
    fn the_first_paint_is_all_but_the_workers_and_the_second_half() {
        for name in [
            "index.html",
            "app-0123456789abcdef_bg.wasm",
            "app-0123456789abcdef.js",
            "app-0123456789abcdef_link.js",
            "base-1.css",
        ] {
            assert!(in_first_paint(name), "{name}");
        }
        for name in [
            "app-0123456789abcdef_later.wasm",
            "worker_cpu-0123456789abcdef_bg.wasm",
            "worker_gpu-0123456789abcdef_loader.js",
        ] {
            assert!(!in_first_paint(name), "{name}");
        }
    }
}
