//! What only the product has, measured in its own page in a browser that is started and ended here.

use std::{
    fs,
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use super::{json::Json, site};
use crate::{root, server, tools};

/// The longest that one measurement may take.
const LIMIT: Duration = Duration::from_mins(20);

/// Ends the browser, whatever happened.
struct Browser(Child);

impl Drop for Browser {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// All measurements, one object each with its `name`.
pub fn measure(quick: bool) -> Result<Vec<Json>, String> {
    if !site::folder().join("site-cpu").join("index.html").is_file() {
        return Err("the page that measures is not built: `cargo xtask bench --build`".to_owned());
    }
    let chromium = tools::Tool::Chromium.program().ok_or("Chromium is not there")?;
    let (port, told) = server::serve_and_listen(site::folder().join("site-cpu"))?;
    let profile = site::folder().join("profile");
    fs::remove_dir_all(&profile).ok();
    let quick = if quick { "&quick" } else { "" };
    let mut command = Command::new(chromium);
    command
        .args(flags()?)
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("http://127.0.0.1:{port}/?own{quick}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut browser = Browser(command.spawn().map_err(|e| format!("cannot start {chromium}: {e}"))?);
    let mut all = Vec::new();
    loop {
        match hear(&told, &mut browser) {
            Ok(line) => {
                let line = Json::read(&line)?;
                let name = line.get("name").text().unwrap_or_default();
                if name == "done" {
                    return Ok(all);
                }
                println!("    measured: {name}");
                all.push(line);
            }
            Err(RecvTimeoutError::Timeout) => return Err(format!("the page said nothing for {LIMIT:?}")),
            Err(RecvTimeoutError::Disconnected) => return Err("the browser or the server ended".to_owned()),
        }
    }
}

/// The next line that the page tells; an error at once where its browser ends.
fn hear(told: &Receiver<String>, browser: &mut Browser) -> Result<String, RecvTimeoutError> {
    let until = Instant::now() + LIMIT;
    loop {
        match told.recv_timeout(Duration::from_secs(5)) {
            Err(RecvTimeoutError::Timeout) if Instant::now() < until => {
                if !matches!(browser.0.try_wait(), Ok(None)) {
                    return Err(RecvTimeoutError::Disconnected);
                }
            }
            heard => return heard,
        }
    }
}

/// The flags stand in one place, for wasm-pack, for stories and for this.
fn flags() -> Result<Vec<String>, String> {
    let path = root().join("webdriver.json");
    let text = fs::read_to_string(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    let settings = Json::read(&text)?;
    let flags: Vec<String> = settings
        .get("goog:chromeOptions")
        .get("args")
        .list()
        .iter()
        .filter_map(|flag| flag.text().map(str::to_owned))
        .collect();
    if flags.is_empty() {
        Err("webdriver.json names no flags".to_owned())
    } else {
        Ok(flags)
    }
}

#[cfg(test)]
mod tests {
    use super::flags;

    #[test]
    fn flags_are_there() {
        assert!(flags().unwrap().iter().any(|flag| flag == "--headless=new"));
    }
}
