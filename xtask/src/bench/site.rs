//! The pages that measure: the bench page in wasm beside the workers of the built site, in one folder a device.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{build, cargo, dist, root, shell, wasm};

/// Names of the folders, and what each page's document says of its device.
pub const PAGES: [(&str, &str); 2] = [("site-cpu", "cpu"), ("site-gpu", "webgpu")];

/// Where everything of the bench lies.
pub fn folder() -> PathBuf {
    root().join("target").join("bench")
}

/// Builds what is not built yet and puts the pages together.
pub fn build() -> Result<(), String> {
    build::build_if_stale()?;
    let flags = "--release --target wasm32-unknown-unknown --bin bench --features bench";
    shell::run(
        "Building the bench page",
        shell::command(&format!("cargo build {flags}")),
    )?;
    let bindings = folder().join("bindings");
    let wasm = cargo::target()?
        .join("wasm32-unknown-unknown")
        .join("release")
        .join("bench.wasm");
    let mut bindgen = shell::command("wasm-bindgen --target web --no-typescript --out-name bench");
    bindgen.arg("--out-dir").arg(&bindings).arg(&wasm);
    shell::run("Writing its JavaScript side", bindgen)?;
    PAGES
        .iter()
        .try_for_each(|(name, device)| assemble(&folder().join(name), device, &bindings, &dist()))
}

fn assemble(page: &Path, device: &str, bindings: &Path, site: &Path) -> Result<(), String> {
    // Of an earlier build: its workers have other names.
    fs::remove_dir_all(page).ok();
    fs::create_dir_all(page).map_err(|e| format!("cannot make {}: {e}", page.display()))?;
    let home = read_text(&site.join("index.html"))?;
    let [cpu, gpu] = ["worker-cpu", "worker-gpu"].map(|meta| content_of(&home, meta));
    let (cpu, gpu) = (cpu?, gpu?);
    for loader in [&cpu, &gpu] {
        let stem = loader
            .strip_suffix("_loader.js")
            .ok_or_else(|| format!("{loader} is no loader"))?;
        for suffix in ["_loader.js", ".js", "_bg.wasm"] {
            let file = format!("{stem}{suffix}");
            copy(&site.join(&file), &page.join(&file))?;
        }
    }
    let sources = root().join("bench");
    for file in ["start.js", "counting-worker.js"] {
        copy(&sources.join(file), &page.join(file))?;
    }
    copy(&bindings.join("bench.js"), &page.join("bench.js"))?;
    let module = fs::read(bindings.join("bench_bg.wasm")).map_err(|e| format!("cannot read bench_bg.wasm: {e}"))?;
    let bare = wasm::without_names(&module).map_err(|e| format!("bench_bg.wasm: {e}"))?;
    write(&page.join("bench_bg.wasm"), &bare)?;
    let document = read_text(&sources.join("index.html"))?;
    let document = document
        .replace("DEVICE", device)
        .replace("WORKER_CPU", &cpu)
        .replace("WORKER_GPU", &gpu);
    write(&page.join("index.html"), document.as_bytes())
}

/// What `<meta name="NAME" content="...">` says in a document.
fn content_of(document: &str, name: &str) -> Result<String, String> {
    let mark = format!("name=\"{name}\" content=\"");
    let content = document.split_once(&mark).and_then(|(_, rest)| rest.split_once('"'));
    content
        .map(|(content, _)| content.to_owned())
        .ok_or_else(|| format!("the site's document has no meta {name:?}"))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to)
        .map(drop)
        .map_err(|e| format!("cannot copy {}: {e}", from.display()))
}

fn read_text(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))
}

fn write(path: &Path, content: &[u8]) -> Result<(), String> {
    fs::write(path, content).map_err(|e| format!("cannot write {}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{assemble, content_of};

    #[test]
    fn a_page_names_the_workers_of_the_site() {
        let home = std::env::temp_dir().join(format!("microbatch-lab-bench-site-{}", std::process::id()));
        let [site, bindings, page] = ["site", "bindings", "page"].map(|name| home.join(name));
        fs::create_dir_all(&site).unwrap();
        fs::create_dir_all(&bindings).unwrap();
        let document =
            r#"<meta name="worker-cpu" content="c-1_loader.js"><meta name="worker-gpu" content="g-2_loader.js">"#;
        fs::write(site.join("index.html"), document).unwrap();
        for stem in ["c-1", "g-2"] {
            for suffix in ["_loader.js", ".js", "_bg.wasm"] {
                fs::write(site.join(format!("{stem}{suffix}")), stem).unwrap();
            }
        }
        fs::write(bindings.join("bench.js"), "").unwrap();
        fs::write(bindings.join("bench_bg.wasm"), b"\0asm\x01\0\0\0").unwrap();
        assemble(&page, "webgpu", &bindings, &site).unwrap();
        let index = fs::read_to_string(page.join("index.html")).unwrap();
        assert_eq!(content_of(&index, "worker-cpu").unwrap(), "c-1_loader.js");
        assert_eq!(content_of(&index, "worker-gpu").unwrap(), "g-2_loader.js");
        assert_eq!(content_of(&index, "bench-device").unwrap(), "webgpu");
        assert!(page.join("c-1_bg.wasm").is_file() && page.join("start.js").is_file());
        assert!(content_of(&index, "worker-tpu").is_err());
        fs::remove_dir_all(&home).unwrap();
    }
}
