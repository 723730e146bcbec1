//! Brings the tools that are missing; what is there is left alone.

use std::process::Command;

use crate::{
    shell::{self, command, on_path},
    tools::{Source, State, Tool},
};

/// Makes sure that all of `tools` are there.
pub fn all(tools: &[Tool]) -> Result<(), String> {
    let mut missing = Vec::new();
    for &tool in tools {
        if !matches!(tool.state()?, State::Good(_)) {
            missing.push((tool, tool.source()?));
        }
    }
    apt(&missing)?;
    for (_, source) in &missing {
        match source {
            Source::Apt(_) => {}
            Source::Rustup(target) => {
                shell::run(
                    &format!("Adding the target {target}"),
                    command(&format!("rustup target add {target}")),
                )?;
            }
            Source::Cargo {
                package,
                version,
                features,
                locked,
            } => cargo_install(package, &options(version, features, *locked))?,
        }
    }
    match missing
        .iter()
        .find(|(tool, _)| !matches!(tool.state(), Ok(State::Good(_))))
    {
        Some((tool, source)) => Err(format!("{} is still not usable.\n{}", tool.name(), instruction(source))),
        None => Ok(()),
    }
}

/// What a person can type to bring a tool.
pub fn instruction(source: &Source) -> String {
    match source {
        Source::Rustup(target) => format!("rustup target add {target}"),
        Source::Cargo {
            package,
            version,
            features,
            locked,
        } => format!("cargo install {package}{}", options(version, features, *locked)),
        Source::Apt(package) if on_path("apt-get") => format!("apt-get install {package} (as root, or with sudo)"),
        Source::Apt("brotli") => "install brotli: macOS `brew install brotli`; Fedora `dnf install brotli`; Arch `pacman -S brotli`; \
             Windows `winget install Google.Brotli`, and see that `brotli` is on the PATH"
            .to_owned(),
        Source::Apt("chromium") => "install Chromium or Chrome: macOS `brew install --cask google-chrome`; Fedora `dnf install chromium`; \
             Arch `pacman -S chromium`; Windows `winget install Google.Chrome`"
            .to_owned(),
        Source::Apt(_) => "install the ChromeDriver of the same major version as your Chrome: macOS `brew install --cask chromedriver`; \
             Fedora `dnf install chromedriver`; Arch: it comes with chromium; others: \
             https://googlechromelabs.github.io/chrome-for-testing/ and put `chromedriver` on the PATH"
            .to_owned(),
    }
}

/// One call of apt for all packages, since each call reads the lists anew.
fn apt(missing: &[(Tool, Source)]) -> Result<(), String> {
    let sources: Vec<&Source> = missing
        .iter()
        .map(|(_, s)| s)
        .filter(|s| matches!(s, Source::Apt(_)))
        .collect();
    if sources.is_empty() {
        return Ok(());
    }
    let sudo = if is_root() { "" } else { "sudo " };
    if !on_path("apt-get") || (!sudo.is_empty() && !on_path("sudo")) {
        let lines: Vec<String> = sources.iter().map(|s| format!("  - {}", instruction(s))).collect();
        return Err(format!("please install these, then call again:\n{}", lines.join("\n")));
    }
    let packages: Vec<&str> = sources
        .iter()
        .filter_map(|s| if let Source::Apt(p) = s { Some(*p) } else { None })
        .collect();
    shell::run(
        "Reading apt's package lists",
        quiet_apt(&format!("{sudo}apt-get update -qq")),
    )?;
    let line = format!(
        "{sudo}apt-get install -y -qq --no-install-recommends {}",
        packages.join(" ")
    );
    shell::run(&format!("Installing {}", packages.join(", ")), quiet_apt(&line))
}

fn quiet_apt(line: &str) -> Command {
    let mut command = command(line);
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn is_root() -> bool {
    shell::first_line("id", &["-u"]).as_deref() == Some("0")
}

/// What cargo is told of a package to install, each with a space before it.
fn options(version: &str, features: &str, locked: bool) -> String {
    let features = match features {
        "" => String::new(),
        some => format!(" --features {some}"),
    };
    let locked = if locked { " --locked" } else { "" };
    format!(" --version {version}{features}{locked}")
}

/// Builds a tool from source. Its own release profile asks for fat LTO, which triples the wait and gains nothing here.
fn cargo_install(package: &str, options: &str) -> Result<(), String> {
    let mut command = command(&format!("cargo install --force {package}{options}"));
    command
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
        // The tools share many dependencies; in one folder each is built once.
        .env("CARGO_TARGET_DIR", crate::root().join("target").join("tools"));
    shell::run(&format!("Building {package} from source, some minutes"), command)
}

#[cfg(test)]
mod tests {
    use super::instruction;
    use crate::tools::Source;

    #[test]
    fn instructions_can_be_typed() {
        let trunk = Source::Cargo {
            package: "trunk",
            version: "0.21.14".to_owned(),
            features: "",
            locked: true,
        };
        assert_eq!(instruction(&trunk), "cargo install trunk --version 0.21.14 --locked");
        let with_features = Source::Cargo {
            package: "a",
            version: "1.0.0".to_owned(),
            features: "b",
            locked: false,
        };
        assert_eq!(
            instruction(&with_features),
            "cargo install a --version 1.0.0 --features b"
        );
        assert_eq!(
            instruction(&Source::Rustup("wasm32-unknown-unknown")),
            "rustup target add wasm32-unknown-unknown"
        );
    }
}
