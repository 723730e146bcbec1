//! Chromium behind chromedriver, both started and ended here.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

use serde_json::Value;
use thirtyfour::prelude::*;

use crate::Trouble;

/// A running chromedriver; ends with its value.
#[derive(Debug)]
pub struct Driver {
    process: Child,
    port: u16,
}

impl Driver {
    /// Starts one on a free port.
    pub fn start() -> Result<Self, Trouble> {
        let program = std::env::var("CHROMEDRIVER").unwrap_or_else(|_| "chromedriver".to_owned());
        let mut process = Command::new(&program)
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("cannot start {program}: {e}; `cargo xtask doctor` says how to mend it"))?;
        let pipe = process.stdout.take().ok_or("chromedriver says nothing")?;
        let mut lines = BufReader::new(pipe).lines();
        let port = lines.by_ref().map_while(Result::ok).find_map(|line| port_in(&line));
        // Read to the end, or a full pipe would stop it.
        std::thread::spawn(move || lines.for_each(drop));
        let port = port.ok_or("chromedriver ended before it named its port")?;
        Ok(Self { process, port })
    }

    /// A fresh window of 1280 x 800 with the flags that browser tests use too.
    pub async fn window(&self) -> Result<WebDriver, Trouble> {
        let mut capabilities = DesiredCapabilities::chrome();
        for flag in flags()? {
            capabilities.add_arg(&flag)?;
        }
        capabilities.add_arg("--window-size=1280,800")?;
        capabilities.add_arg("--lang=en-US")?;
        Ok(WebDriver::new(format!("http://127.0.0.1:{}", self.port), capabilities).await?)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// `ChromeDriver was started successfully on port 40123.`
fn port_in(line: &str) -> Option<u16> {
    let (_, after) = line.split_once("successfully on port ")?;
    after.trim_end_matches('.').trim().parse().ok()
}

/// The flags stand in one place, for wasm-pack and for the stories.
fn flags() -> Result<Vec<String>, Trouble> {
    let path = xtask::root().join("webdriver.json");
    let settings: Value = serde_json::from_str(&std::fs::read_to_string(&path)?)?;
    let list = settings["goog:chromeOptions"]["args"]
        .as_array()
        .ok_or("webdriver.json names no flags")?;
    Ok(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::{flags, port_in};

    #[test]
    fn reads_the_port() {
        assert_eq!(
            port_in("ChromeDriver was started successfully on port 40123."),
            Some(40123)
        );
        assert_eq!(port_in("Starting ChromeDriver 156.0 on port 0"), None);
    }

    #[test]
    fn flags_are_there() {
        assert!(flags().unwrap().iter().any(|flag| flag == "--headless=new"));
    }
}
