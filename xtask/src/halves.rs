//! Cuts the page's wasm in two: what is needed to see the page, and what is fetched right after (see `src/ui/later` and ADR 12).
//!
//! trunk has no place for this between cargo and wasm-bindgen, so what it made of the whole is replaced here: the cut is at the function
//! that carries the mark of `wasm_split`, found by the relocations that `build.rs` asks the linker to keep.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    finish::{read, write},
    install, root, shell,
    tools::Tool,
};

/// What the page's files are called before they get the hash of their content.
pub const PAGE: &str = "app";

/// What follows [`PAGE`] in the names of its files: JavaScript and wasm of the first half, what fetches the second, and the second.
pub const SUFFIXES: [&str; 4] = [".js", "_bg.wasm", "_link.js", LATER];

/// What the name of the second half ends with.
pub const LATER: &str = "_later.wasm";

/// What the tool calls the second half, by the name in `src/bin/app.rs`, and what fetches it.
const CUT_OFF: &str = "split_later.wasm";
const LINK: &str = "__wasm_split.js";

/// The tool's link needs a server that knows wasm by its type. The page's first half does without, so the second does, too.
const STREAMED: &str = "WebAssembly.instantiateStreaming(src, imports)";
const EITHER_WAY: &str = "(async (response) => response.headers.get(\"content-type\") === \"application/wasm\" \
     ? WebAssembly.instantiateStreaming(response, imports) \
     : WebAssembly.instantiate(await response.arrayBuffer(), imports))(await src)";

/// Replaces what trunk made of the page in `staging` by its two halves.
pub fn cut(staging: &Path) -> Result<(), String> {
    // Who calls trunk by hand may have neither: trunk brings a wasm-bindgen of its own, beside the PATH.
    install::all(&[Tool::WasmBindgen, Tool::WasmSplit])?;
    let (parts, bound) = (folder().join("parts"), folder().join("bound"));
    for old in [&parts, &bound] {
        fs::remove_dir_all(old).ok();
    }
    fs::create_dir_all(&parts).map_err(|e| format!("cannot make {}: {e}", parts.display()))?;
    let mut split = shell::command(&format!("wasm-split-cli --target web --out-name {PAGE}"));
    split
        .arg(target().join("wasm32-unknown-unknown/page/app.wasm"))
        .arg(&parts);
    shell::run("Cutting the page in two", split)?;
    // Names as the linker wrote them: by these the second half finds what it shares with the first.
    let mut bindgen = shell::command(&format!(
        "wasm-bindgen --target web --no-typescript --keep-lld-exports --no-demangle --out-name {PAGE}"
    ));
    bindgen
        .arg("--out-dir")
        .arg(&bound)
        .arg(parts.join(format!("{PAGE}.wasm")));
    shell::run("Writing the JavaScript side of the first half", bindgen)?;
    replace(staging, &parts, &bound)
}

/// Where the halves are made.
fn folder() -> PathBuf {
    target().join("halves")
}

/// Where cargo builds.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Takes trunk's files of the page out of `staging`, puts the halves there, and has the document name them.
fn replace(staging: &Path, parts: &Path, bound: &Path) -> Result<(), String> {
    let whole = stem_of_trunk(staging)?;
    for suffix in [".js", "_bg.wasm"] {
        let path = staging.join(format!("{whole}{suffix}"));
        fs::remove_file(&path).map_err(|e| format!("cannot remove {}: {e}", path.display()))?;
    }
    let document = staging.join("index.html");
    write(&document, preload_link(&text(&document)?, &whole)?.as_bytes())?;
    let script = text(&bound.join(format!("{PAGE}.js")))?;
    let script = renamed(
        &script,
        &format!("from \"./{LINK}\""),
        &format!("from \"./{PAGE}_link.js\""),
    )?;
    write(&staging.join(format!("{PAGE}.js")), script.as_bytes())?;
    let link = text(&parts.join(LINK))?;
    let link = renamed(&link, CUT_OFF, &format!("{PAGE}{LATER}"))?;
    let link = renamed(&link, STREAMED, EITHER_WAY)?;
    write(&staging.join(format!("{PAGE}_link.js")), link.as_bytes())?;
    write(
        &staging.join(format!("{PAGE}_bg.wasm")),
        &read(&bound.join(format!("{PAGE}_bg.wasm")))?,
    )?;
    write(&staging.join(format!("{PAGE}{LATER}")), &read(&parts.join(CUT_OFF))?)
}

/// `app-<hash>`, as trunk named the whole.
fn stem_of_trunk(staging: &Path) -> Result<String, String> {
    let entries = fs::read_dir(staging).map_err(|e| format!("cannot read {}: {e}", staging.display()))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut stems = names.filter_map(|name| {
        let stem = name.strip_suffix("_bg.wasm")?;
        stem.starts_with(&format!("{PAGE}-")).then(|| stem.to_owned())
    });
    stems
        .next()
        .ok_or_else(|| format!("trunk left no page in {}", staging.display()))
}

/// The document with the names of the halves, and with the script between them fetched beside the others, not after them.
fn preload_link(document: &str, whole: &str) -> Result<String, String> {
    let document = document.replace(whole, PAGE);
    let script = format!("./{PAGE}.js\"");
    let place = document
        .match_indices("<link rel=\"modulepreload\"")
        .map(|(at, _)| at)
        .find(|&at| {
            document[at..]
                .split('>')
                .next()
                .is_some_and(|tag| tag.contains(&script))
        })
        .ok_or_else(|| format!("index.html preloads no {PAGE}.js"))?;
    let (before, after) = document.split_at(place);
    Ok(format!(
        "{before}<link rel=\"modulepreload\" href=\"./{PAGE}_link.js\" crossorigin=\"anonymous\">{after}"
    ))
}

/// An error where there is nothing to rename: then the tool has changed.
fn renamed(text: &str, from: &str, to: &str) -> Result<String, String> {
    if text.contains(from) {
        Ok(text.replace(from, to))
    } else {
        Err(format!("expected `{from}` in what was generated"))
    }
}

fn text(path: &Path) -> Result<String, String> {
    String::from_utf8(read(path)?).map_err(|e| format!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{CUT_OFF, LINK, SUFFIXES, preload_link, renamed, replace};

    const DOCUMENT: &str =
        "<link rel=\"modulepreload\" href=\"./app-1.js\"><link rel=\"preload\" href=\"./app-1_bg.wasm\">";

    #[test]
    fn the_halves_take_the_place_of_the_whole() {
        let home = std::env::temp_dir().join(format!("microbatch-lab-halves-{}", std::process::id()));
        let [staging, parts, bound] = ["staging", "parts", "bound"].map(|name| home.join(name));
        for (folder, file, content) in [
            (&staging, "index.html", DOCUMENT),
            (&staging, "app-1.js", "whole"),
            (&staging, "app-1_bg.wasm", "whole"),
            (
                &bound,
                "app.js",
                "import * as a from \"./__wasm_split.js\"; ({ \"./__wasm_split.js\": a })",
            ),
            (&bound, "app_bg.wasm", "first"),
            (&parts, CUT_OFF, "second"),
            (
                &parts,
                LINK,
                "import { initSync } from \"./app.js\"; \"./split_later.wasm\"; (WebAssembly.instantiateStreaming(src, imports))",
            ),
        ] {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join(file), content).unwrap();
        }
        replace(&staging, &parts, &bound).unwrap();
        let text = |suffix: &str| fs::read_to_string(staging.join(format!("app{suffix}"))).unwrap();
        assert_eq!(SUFFIXES.map(|suffix| text(suffix).is_empty()), [false; 4]);
        // What the wasm itself calls the link stays.
        assert_eq!(
            text(".js"),
            "import * as a from \"./app_link.js\"; ({ \"./__wasm_split.js\": a })"
        );
        assert!(text("_link.js").contains("\"./app_later.wasm\"") && text("_link.js").contains("arrayBuffer"));
        assert_eq!(
            (text("_bg.wasm").as_str(), text("_later.wasm").as_str()),
            ("first", "second")
        );
        assert!(!staging.join("app-1.js").exists() && !staging.join("app-1_bg.wasm").exists());
        fs::remove_dir_all(&home).unwrap();
    }

    #[test]
    fn the_link_is_fetched_beside_the_first_half() {
        let document = preload_link(DOCUMENT, "app-1").unwrap();
        assert!(document.starts_with("<link rel=\"modulepreload\" href=\"./app_link.js\""));
        assert!(document.contains("\"./app.js\"") && document.contains("\"./app_bg.wasm\""));
        assert!(preload_link("<p>", "app-1").is_err());
    }

    #[test]
    fn another_tool_is_noticed() {
        assert!(renamed("a b", "c", "d").is_err());
    }
}
