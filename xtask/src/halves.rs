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
    root, shell,
};

/// What the page's files are called before they get the hash of their content.
pub const PAGE: &str = "app";

/// What follows [`PAGE`] in the names of its files: JavaScript and wasm of the first half, what fetches the second, and the second.
pub const SUFFIXES: [&str; 4] = [".js", "_bg.wasm", "_link.js", "_later.wasm"];

/// What the tool calls the second half, by the name in `src/bin/app.rs`, and what fetches it.
const LATER: &str = "split_later.wasm";
const LINK: &str = "__wasm_split.js";

/// The tool's link needs a server that knows wasm by its type. The page's first half does without, so the second does, too.
const STREAMED: &str = "WebAssembly.instantiateStreaming(src, imports)";
const EITHER_WAY: &str = "(async (response) => response.headers.get(\"content-type\") === \"application/wasm\" \
     ? WebAssembly.instantiateStreaming(response, imports) \
     : WebAssembly.instantiate(await response.arrayBuffer(), imports))(await src)";

/// Replaces what trunk made of the page in `staging` by its two halves.
pub fn cut(staging: &Path) -> Result<(), String> {
    let (parts, bound) = (folder().join("parts"), folder().join("bound"));
    for old in [&parts, &bound] {
        fs::remove_dir_all(old).ok();
    }
    fs::create_dir_all(&parts).map_err(|e| format!("cannot make {}: {e}", parts.display()))?;
    let mut split = shell::command(&format!("wasm-split-cli --target web --out-name {PAGE}"));
    split.arg(target().join("wasm32-unknown-unknown/page/app.wasm")).arg(&parts);
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
    let script = renamed(&script, &format!("from \"./{LINK}\""), &format!("from \"./{PAGE}_link.js\""))?;
    write(&staging.join(format!("{PAGE}.js")), script.as_bytes())?;
    let link = text(&parts.join(LINK))?;
    let link = renamed(&link, LATER, &format!("{PAGE}_later.wasm"))?;
    let link = renamed(&link, STREAMED, EITHER_WAY)?;
    write(&staging.join(format!("{PAGE}_link.js")), link.as_bytes())?;
    write(&staging.join(format!("{PAGE}_bg.wasm")), &read(&bound.join(format!("{PAGE}_bg.wasm")))?)?;
    write(&staging.join(format!("{PAGE}_later.wasm")), &read(&parts.join(LATER))?)
}

/// `app-<hash>`, as trunk named the whole.
fn stem_of_trunk(staging: &Path) -> Result<String, String> {
    let entries = fs::read_dir(staging).map_err(|e| format!("cannot read {}: {e}", staging.display()))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut stems = names.filter_map(|name| {
        let stem = name.strip_suffix("_bg.wasm")?;
        stem.starts_with(&format!("{PAGE}-")).then(|| stem.to_owned())
    });
    stems.next().ok_or_else(|| format!("trunk left no page in {}", staging.display()))
}

/// The document with the names of the halves, and with the script between them fetched beside the others, not after them.
fn preload_link(document: &str, whole: &str) -> Result<String, String> {
    let document = document.replace(whole, PAGE);
    let script = format!("./{PAGE}.js\"");
    let place = document
        .match_indices("<link rel=\"modulepreload\"")
        .map(|(at, _)| at)
        .find(|&at| document[at..].split('>').next().is_some_and(|tag| tag.contains(&script)))
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
