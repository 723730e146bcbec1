//! Cuts the page's wasm in two: what is needed to see the page, and what is fetched right after (see `src/ui/later` and ADR 12).
//!
//! trunk has no place for this between cargo and wasm-bindgen, so what it made of the whole is replaced here: the cut is at the function
//! that carries the mark of `wasm_split`, found by the relocations that `build.rs` asks the linker to keep.

use std::{fs, io::ErrorKind, path::Path};

use crate::{
    cargo,
    finish::{read, write},
    install,
    link::{self, CUT_OFF, renamed},
    shell,
    tools::Tool,
};

/// What the page's files are called before they get the hash of their content.
pub const PAGE: &str = "app";

/// What follows [`PAGE`] in the names of its files: JavaScript and wasm of the first half, what fetches the second, and the second.
pub const SUFFIXES: [&str; 4] = [".js", "_bg.wasm", "_link.js", LATER];

/// What the name of the second half ends with.
pub const LATER: &str = "_later.wasm";

/// What fetches it, as the tool calls it.
const LINK: &str = "__wasm_split.js";

/// Replaces what trunk made of the page in `staging` by its two halves.
pub fn cut(staging: &Path) -> Result<(), String> {
    // Who calls trunk by hand may have neither: trunk brings a wasm-bindgen of its own, beside the PATH.
    install::all(&[Tool::WasmBindgen, Tool::WasmSplit])?;
    // Two trees may build into one folder at once.
    let folder = cargo::target()?.join("halves").join(std::process::id().to_string());
    remove(&folder)?;
    let done = cut_in(&folder, staging);
    // What went wrong is told first, also where the folder stays.
    let removed = remove(&folder);
    done.and(removed)
}

fn cut_in(folder: &Path, staging: &Path) -> Result<(), String> {
    let (parts, bound) = (folder.join("parts"), folder.join("bound"));
    fs::create_dir_all(&parts).map_err(|e| format!("cannot make {}: {e}", parts.display()))?;
    let mut split = shell::command(&format!("wasm-split-cli --target web --out-name {PAGE}"));
    split.arg(cargo::page()?).arg(&parts);
    shell::run("Cutting the page in two", split)?;
    in_two(&parts)?;
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

/// An error where the tool left anything but two halves and their link: the page would ask for it, and the site would lack it.
fn in_two(parts: &Path) -> Result<(), String> {
    let entries = fs::read_dir(parts).map_err(|e| format!("cannot read {}: {e}", parts.display()))?;
    let mut made: Vec<String> = entries
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .collect();
    made.sort();
    let mut wanted = [LINK.to_owned(), format!("{PAGE}.wasm"), CUT_OFF.to_owned()];
    wanted.sort();
    if made == wanted {
        Ok(())
    } else {
        Err(format!(
            "cutting the page left {}, not {}: `finish` knows one mark of `wasm_split`, in src/bin/app.rs, and no part that several share",
            made.join(", "),
            wanted.join(", ")
        ))
    }
}

fn remove(folder: &Path) -> Result<(), String> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(format!("cannot remove {}: {e}", folder.display())),
        _ => Ok(()),
    }
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
    write(
        &staging.join(format!("{PAGE}_link.js")),
        link::mended(&link)?.as_bytes(),
    )?;
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

fn text(path: &Path) -> Result<String, String> {
    String::from_utf8(read(path)?).map_err(|e| format!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{CUT_OFF, LINK, SUFFIXES, in_two, preload_link, remove, replace};
    use crate::link::tests::SCRIPT;

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
            (&parts, LINK, SCRIPT),
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
    fn a_third_part_is_noticed() {
        let parts = std::env::temp_dir().join(format!("microbatch-lab-parts-{}", std::process::id()));
        remove(&parts).unwrap();
        fs::create_dir_all(&parts).unwrap();
        for file in [LINK, "app.wasm"] {
            fs::write(parts.join(file), "").unwrap();
        }
        assert!(in_two(&parts).is_err(), "the second half is missing");
        fs::write(parts.join(CUT_OFF), "").unwrap();
        assert_eq!(in_two(&parts), Ok(()));
        fs::write(parts.join("chunk_0.wasm"), "").unwrap();
        assert!(in_two(&parts).unwrap_err().contains("chunk_0.wasm"));
        remove(&parts).unwrap();
        assert!(!parts.exists());
    }
}
