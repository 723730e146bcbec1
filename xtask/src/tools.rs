//! The tools this project needs, as one table: how to see that one is there, and how to bring it.

use crate::{root, shell};

/// trunk of this version builds with Rust 1.95; later ones need a newer compiler.
const TRUNK: &str = "0.21.14";
const WASM_PACK: &str = "0.15.1";
/// Must read the marks of the library `wasm_split_helpers` in Cargo.toml.
const WASM_SPLIT: &str = "0.2.4";

/// One tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// The standard library for wasm.
    WasmTarget,
    /// Builds the page and the workers.
    Trunk,
    /// Writes the JavaScript side of a wasm; its version must be the one of the library.
    WasmBindgen,
    /// Cuts the page's wasm in two.
    WasmSplit,
    /// Measures what travels over the wire.
    Brotli,
    /// The browser that tests run in.
    Chromium,
    /// Drives it.
    ChromeDriver,
    /// Runs wasm tests.
    WasmPack,
}

/// What `cargo xtask serve` and `build` need.
pub const FOR_SERVING: &[Tool] = &[
    Tool::WasmTarget,
    Tool::Brotli,
    Tool::WasmBindgen,
    Tool::WasmSplit,
    Tool::Trunk,
];

/// What `cargo xtask bench` needs; what peers need is theirs.
pub const FOR_BENCH: &[Tool] = &[
    Tool::WasmTarget,
    Tool::Brotli,
    Tool::Chromium,
    Tool::WasmBindgen,
    Tool::WasmSplit,
    Tool::Trunk,
];

/// What `cargo xtask test` needs.
pub const FOR_TESTING: &[Tool] = &[
    Tool::WasmTarget,
    Tool::Brotli,
    Tool::Chromium,
    Tool::ChromeDriver,
    Tool::WasmBindgen,
    Tool::WasmSplit,
    Tool::Trunk,
    Tool::WasmPack,
];

/// How a tool is brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// `rustup target add`.
    Rustup(&'static str),
    /// `cargo install`, of exactly this version.
    Cargo {
        /// The crate.
        package: &'static str,
        /// Its version.
        version: String,
        /// What of it has to be asked for, or nothing.
        features: &'static str,
        /// Whether to take the versions it was published with.
        locked: bool,
    },
    /// A package of Debian and its kin.
    Apt(&'static str),
}

/// Whether a tool is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Usable; what it says of its version.
    Good(String),
    /// There, but of another version than the project asks for.
    Other(String),
    /// Not there.
    Missing,
}

impl Tool {
    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::WasmTarget => "wasm32-unknown-unknown",
            Self::Trunk => "trunk",
            Self::WasmBindgen => "wasm-bindgen",
            Self::WasmSplit => "wasm-split-cli",
            Self::Brotli => "brotli",
            Self::Chromium => "chromium",
            Self::ChromeDriver => "chromedriver",
            Self::WasmPack => "wasm-pack",
        }
    }

    /// How it is brought.
    pub fn source(self) -> Result<Source, String> {
        let cargo = |package, version: &str, locked| Source::Cargo {
            package,
            version: version.to_owned(),
            features: "",
            locked,
        };
        Ok(match self {
            Self::WasmTarget => Source::Rustup("wasm32-unknown-unknown"),
            Self::Trunk => cargo("trunk", TRUNK, true),
            // Without --locked: the lock file it is published with does not build everywhere.
            Self::WasmBindgen => cargo("wasm-bindgen-cli", &locked_version("wasm-bindgen")?, false),
            Self::WasmPack => cargo("wasm-pack", WASM_PACK, true),
            Self::WasmSplit => Source::Cargo {
                package: "wasm_split_cli_support",
                version: WASM_SPLIT.to_owned(),
                features: "build-binary",
                locked: true,
            },
            Self::Brotli => Source::Apt("brotli"),
            Self::Chromium => Source::Apt("chromium"),
            Self::ChromeDriver => Source::Apt("chromium-driver"),
        })
    }

    /// Whether it is there, in the version asked for.
    pub fn state(self) -> Result<State, String> {
        let source = self.source()?;
        let line = match (self, &source) {
            (Self::WasmTarget, _) => return Ok(wasm_target()),
            // It tells no version itself.
            (Self::WasmSplit, Source::Cargo { package, .. }) => self.program().and_then(|_| installed(package)),
            _ => self
                .programs()
                .iter()
                .find_map(|p| shell::first_line(p, &["--version"])),
        };
        let Some(line) = line else {
            return Ok(State::Missing);
        };
        Ok(match source {
            Source::Cargo { version, .. } if !names_version(&line, &version) => State::Other(line),
            _ => State::Good(line),
        })
    }

    /// The name that it goes by here.
    pub fn program(self) -> Option<&'static str> {
        self.programs().iter().copied().find(|program| shell::on_path(program))
    }

    /// Names it goes by on different systems.
    fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Chromium => &["chromium", "chromium-browser", "google-chrome"],
            Self::WasmTarget => &[],
            Self::Trunk => &["trunk"],
            Self::WasmBindgen => &["wasm-bindgen"],
            Self::WasmSplit => &["wasm-split-cli"],
            Self::Brotli => &["brotli"],
            Self::ChromeDriver => &["chromedriver"],
            Self::WasmPack => &["wasm-pack"],
        }
    }
}

fn wasm_target() -> State {
    let there = shell::first_line(
        "rustc",
        &["--print", "target-libdir", "--target", "wasm32-unknown-unknown"],
    )
    .is_some_and(|dir| std::path::Path::new(&dir).is_dir());
    if there {
        State::Good(shell::first_line("rustc", &["--version"]).unwrap_or_default())
    } else {
        State::Missing
    }
}

/// What cargo says of a package that it installed, like `a 0.1.0`.
fn installed(package: &str) -> Option<String> {
    let output = shell::command("cargo install --list").output().ok()?;
    installed_in(&String::from_utf8_lossy(&output.stdout), package)
}

/// The list has lines like `a v0.1.0:`, each with its programs below it.
fn installed_in(list: &str, package: &str) -> Option<String> {
    let mark = format!("{package} v");
    let version = list.lines().find_map(|line| line.strip_prefix(&mark))?;
    let version = version.split([':', ' ']).next()?;
    Some(format!("{package} {version}"))
}

/// Whether `line`, like "trunk 0.21.14", names `version` as a whole word.
fn names_version(line: &str, version: &str) -> bool {
    line.split_whitespace().any(|word| word == version)
}

/// The version of `package` in Cargo.lock.
fn locked_version(package: &str) -> Result<String, String> {
    let path = root().join("Cargo.lock");
    let lock = std::fs::read_to_string(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    version_in(&lock, package).ok_or_else(|| format!("Cargo.lock names no {package}"))
}

fn version_in(lock: &str, package: &str) -> Option<String> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name);
    let version = lines.nth(1)?.strip_prefix("version = \"")?;
    version.strip_suffix('"').map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{installed_in, names_version, version_in};

    #[test]
    fn reads_a_version_from_the_lock_file() {
        let lock =
            "[[package]]\nname = \"a-b\"\nversion = \"9.9.9\"\n\n[[package]]\nname = \"a\"\nversion = \"0.2.130\"\n";
        assert_eq!(version_in(lock, "a").as_deref(), Some("0.2.130"));
        assert_eq!(version_in(lock, "b"), None);
    }

    #[test]
    fn reads_a_version_from_the_list_of_what_is_installed() {
        let list = "a-b v0.3.0:\n    b\nb v0.2.4 (/some/folder):\n    b\nc v1.0.0:\n    c\n";
        assert_eq!(installed_in(list, "b").as_deref(), Some("b 0.2.4"));
        assert_eq!(installed_in(list, "c").as_deref(), Some("c 1.0.0"));
        assert_eq!(installed_in(list, "a"), None);
    }

    #[test]
    fn a_version_is_a_whole_word() {
        assert!(names_version("trunk 0.21.14", "0.21.14"));
        assert!(!names_version("trunk 0.21.140", "0.21.14"));
    }
}
