//! What cargo is asked for: where it builds, and what it made of the page.

use std::path::PathBuf;

use crate::{bench::json::Json, shell};

/// As `web/index.html` has trunk build the page.
const PAGE: &str =
    "cargo build --target wasm32-unknown-unknown --bin app --no-default-features --features ui --profile page";

/// Where it builds: an environment variable says so, or any of cargo's own files, or neither.
pub fn target() -> Result<PathBuf, String> {
    let told = shell::output(shell::command("cargo metadata --no-deps --format-version 1"))?;
    let folder = Json::read(&told)?.get("target_directory").text().map(PathBuf::from);
    folder.ok_or_else(|| "cargo does not say where it builds".to_owned())
}

/// The page's wasm as it was linked for trunk a moment ago.
///
/// A file of that name may be old, or another tree's that builds into the same folder; cargo, asked in the same words, knows its own.
pub fn page() -> Result<PathBuf, String> {
    let line = format!("{PAGE} --message-format json-render-diagnostics");
    page_of(&shell::output(shell::command(&line))?)
}

/// What cargo's messages say of the page. Had there been anything left to build, trunk would have built something else.
fn page_of(messages: &str) -> Result<PathBuf, String> {
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message = Json::read(line)?;
        let of_page = message.get("target").get("name").text() == Some("app");
        if message.get("reason").text() != Some("compiler-artifact") || !of_page {
            continue;
        }
        if message.get("fresh") != &Json::Bool(true) {
            return Err(format!(
                "the page had to be built anew: a source was changed since trunk built it, or web/index.html asks for another build than \
                 `{PAGE}` (xtask/src/cargo.rs)"
            ));
        }
        let files = message.get("filenames").list().iter().filter_map(Json::text);
        let wasm = files
            .map(PathBuf::from)
            .find(|file| file.extension().is_some_and(|e| e == "wasm"));
        if let Some(wasm) = wasm {
            return Ok(wasm);
        }
    }
    Err(format!("`{PAGE}` names no wasm of the page"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{PAGE, page_of, target};

    fn message(name: &str, fresh: bool) -> String {
        format!(
            r#"{{"reason":"compiler-artifact","target":{{"name":"{name}"}},"filenames":["/t/{name}.d","/t/{name}.wasm"],"fresh":{fresh}}}"#
        )
    }

    #[test]
    fn only_a_page_that_was_there_is_cut() {
        let others = format!(
            "   Compiling\n{}\n{}\n",
            message("leptos", false),
            r#"{"reason":"build-finished"}"#
        );
        assert!(page_of(&others).unwrap_err().contains("names no wasm"));
        let there = format!("{others}{}", message("app", true));
        assert_eq!(page_of(&there).unwrap().to_str(), Some("/t/app.wasm"));
        let built = format!("{others}{}", message("app", false));
        assert!(page_of(&built).unwrap_err().contains("built anew"));
    }

    #[test]
    fn the_page_is_built_as_the_document_says() {
        let document = fs::read_to_string(crate::root().join("web/index.html")).unwrap();
        let page = document
            .split("data-bin=\"app\"")
            .nth(1)
            .unwrap()
            .split('>')
            .next()
            .unwrap();
        for (says, asks) in [
            ("data-cargo-no-default-features", "--no-default-features"),
            ("data-cargo-features=\"ui\"", "--features ui"),
            ("data-cargo-profile=\"page\"", "--profile page"),
        ] {
            assert!(page.contains(says) && PAGE.contains(asks), "{says}");
        }
    }

    #[test]
    fn cargo_says_where_it_builds() {
        assert!(target().unwrap().is_absolute());
    }
}
