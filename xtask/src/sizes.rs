//! How large the site is, as it lies on disk and as it travels.

use std::{
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

/// Prints raw, gzip and brotli sizes of every wasm, JavaScript and style file in `folder`.
pub fn report(folder: &Path) -> Result<(), String> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .map_err(|e| format!("cannot read {}: {e}", folder.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "wasm" || e == "js" || e == "css"))
        .collect();
    files.sort();
    println!(
        "{:>12} {:>12} {:>12}  file (bytes; gzip -9, brotli -9)",
        "raw", "gzip", "brotli"
    );
    for path in files {
        let content = fs::read(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        let name = path
            .file_name()
            .map(|n| n.to_string_lossy().into_owned())
            .unwrap_or_default();
        println!(
            "{:>12} {:>12} {:>12}  {name}",
            grouped(content.len()),
            compressed("gzip", &content),
            compressed("brotli", &content)
        );
    }
    Ok(())
}

/// Size after `program -9`, or a dash where that program is missing.
fn compressed(program: &str, content: &[u8]) -> String {
    let spawned = Command::new(program)
        .args(["-9", "-c"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = spawned else { return "-".to_owned() };
    let Some(mut pipe) = child.stdin.take() else {
        return "-".to_owned();
    };
    std::thread::scope(|scope| {
        // Written from a second thread, since the program fills its own output pipe meanwhile.
        let writer = scope.spawn(move || pipe.write_all(content).is_ok());
        let output = child.wait_with_output();
        let written = writer.join().unwrap_or(false);
        output
            .ok()
            .filter(|o| written && o.status.success())
            .map_or_else(|| "-".to_owned(), |o| grouped(o.stdout.len()))
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
    use super::{compressed, grouped};

    #[test]
    fn digits_come_in_threes() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1 234 567");
    }

    #[test]
    fn a_missing_program_is_a_dash() {
        assert_eq!(compressed("surely-not-a-program", b"abc"), "-");
    }
}
