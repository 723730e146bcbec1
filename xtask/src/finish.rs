//! The last step of every build by trunk, called as its post_build hook: cuts the page in two, checks the wasm files by the names in them,
//! takes those names away, and gives page, workers and the shaders that the page shows names that carry a hash of their content.
//!
//! A browser may then keep them for ever, and never runs the worker, or the second half, of one build with the page of another.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

use crate::{belongs, halves, sources, wasm};

/// The worker binaries, as `web/index.html` names them.
pub const WORKERS: [&str; 2] = ["worker_cpu", "worker_gpu"];

/// What follows a worker's name in the names of its files.
const WORKER_SUFFIXES: [&str; 3] = ["_bg.wasm", ".js", "_loader.js"];

/// Works on the folder that trunk names in the environment.
pub fn from_trunk() -> Result<(), String> {
    let staging = std::env::var_os("TRUNK_STAGING_DIR").ok_or("`finish` is called by trunk, see Trunk.toml")?;
    let staging = PathBuf::from(staging);
    halves::cut(&staging)?;
    check(&staging)?;
    hash_names(&staging, halves::PAGE, &halves::SUFFIXES)?;
    sources::hash_folder(&staging)?;
    WORKERS
        .iter()
        .try_for_each(|worker| hash_names(&staging, worker, &WORKER_SUFFIXES))
}

/// Reads every wasm file of `folder` and says what must not be in it. Good ones lose their name sections, a fifth of their size.
fn check(folder: &Path) -> Result<(), String> {
    let (mut seen, mut first, mut second) = (0, Vec::new(), Vec::new());
    for entry in fs::read_dir(folder).map_err(|e| format!("cannot read {}: {e}", folder.display()))? {
        let path = entry.map_err(|e| e.to_string())?.path();
        let name = path
            .file_name()
            .map(|n| n.to_string_lossy().into_owned())
            .unwrap_or_default();
        if path.extension().is_none_or(|e| e != "wasm") {
            continue;
        }
        seen += 1;
        let module = read(&path)?;
        let names = wasm::names(&module).map_err(|e| format!("{name}: {e}"))?;
        check_names(&name, &names)?;
        let bare = wasm::without_names(&module).map_err(|e| format!("{name}: {e}"))?;
        write(&path, &bare)?;
        if name.ends_with(halves::LATER) {
            second = names;
        } else if name.starts_with(halves::PAGE) {
            first = names;
        }
    }
    if seen < 4 {
        Err(format!(
            "expected two halves of a page and two workers, found {seen} wasm files"
        ))
    } else {
        belongs::check(&first, &second)
    }
}

fn check_names(file: &str, names: &[String]) -> Result<(), String> {
    let burn = names.iter().find(|name| is_burn(name));
    if file.starts_with("app") {
        return match burn {
            Some(name) => Err(format!("{file} carries the engine: it has the function {name}")),
            None if names.len() < 50 => Err(format!(
                "{file} names {} functions, so nothing can be said of it",
                names.len()
            )),
            None => Ok(()),
        };
    }
    if let Some(wrapped) = names.iter().find(|name| name.ends_with(".command_export")) {
        return Err(format!(
            "{file} has the function {wrapped}: the linker wraps every export in a run of all static constructors, milliseconds each; \
             something must refer to `__wasm_call_ctors` (see the worker's entry point)"
        ));
    }
    // The page's check is worth something only while the engine can be recognised by its names.
    if burn.is_none() {
        Err(format!(
            "{file} should carry the engine, but none of its functions is burn's"
        ))
    } else {
        Ok(())
    }
}

/// Names come as they are written in Rust, and from the page's halves as the linker writes them: `4burn` in a path, `burn..` in a type.
fn is_burn(name: &str) -> bool {
    ["burn_", "burn::", "4burn", "burn..", "cubecl"]
        .iter()
        .any(|mark| name.contains(mark))
}

/// `worker_cpu.js`, `worker_cpu_bg.wasm` and the like become `worker_cpu-<hash>...`, in the files that name them too.
fn hash_names(folder: &Path, stem: &str, suffixes: &[&str]) -> Result<(), String> {
    let mut hasher = DefaultHasher::new();
    for suffix in suffixes {
        read(&folder.join(format!("{stem}{suffix}")))?.hash(&mut hasher);
    }
    let hashed = format!("{stem}-{:016x}", hasher.finish());
    let scripts = suffixes.iter().filter(|suffix| suffix.ends_with("js"));
    let texts = scripts.map(|suffix| format!("{stem}{suffix}"));
    for file in texts.chain(["index.html".to_owned()]) {
        let path = folder.join(file);
        let text = String::from_utf8(read(&path)?).map_err(|e| format!("{}: {e}", path.display()))?;
        let renamed = suffixes.iter().fold(text, |text, suffix| {
            text.replace(&format!("{stem}{suffix}"), &format!("{hashed}{suffix}"))
        });
        write(&path, renamed.as_bytes())?;
    }
    for suffix in suffixes {
        let (from, to) = (
            folder.join(format!("{stem}{suffix}")),
            folder.join(format!("{hashed}{suffix}")),
        );
        fs::rename(&from, &to).map_err(|e| format!("cannot rename {}: {e}", from.display()))?;
    }
    Ok(())
}

pub(crate) fn write(path: &Path, content: &[u8]) -> Result<(), String> {
    fs::write(path, content).map_err(|e| format!("cannot write {}: {e}", path.display()))
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|e| format!("cannot read {}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{WORKER_SUFFIXES, check_names, hash_names, is_burn};

    fn named(names: &[&str]) -> Vec<String> {
        names.iter().map(|&n| n.to_owned()).collect()
    }

    #[test]
    fn the_page_may_not_carry_the_engine() {
        let mut page: Vec<String> = (0..200).map(|i| format!("leptos::f{i}")).collect();
        assert!(check_names("app-1_bg.wasm", &page).is_ok());
        page.push("burn_flex::ops::matmul".to_owned());
        assert!(check_names("app-1_bg.wasm", &page).is_err());
        assert!(
            check_names("app-1_bg.wasm", &named(&["main"])).is_err(),
            "without names there is nothing to check"
        );
    }

    #[test]
    fn the_engine_is_known_by_either_way_to_write_a_name() {
        for name in [
            "burn::tensor::Tensor::new",
            "<burn::tensor::Tensor as Clone>::clone",
            "burn_flex::ops::matmul",
            "_ZN4burn6tensor6Tensor3new17h0123456789abcdefE",
            "_ZN56_$LT$burn..tensor..Tensor$u20$as$u20$core..clone..Clone$GT$5clone17h0123456789abcdefE",
            "_ZN9burn_flex3ops6matmul17h0123456789abcdefE",
            "_ZN12cubecl_core7compute17h0123456789abcdefE",
        ] {
            assert!(is_burn(name), "{name}");
        }
        for name in [
            "leptos::mount::mount_to_body",
            "_ZN14microbatch_lab2ui6panels7records19__component_records17h0123456789abcdefE",
        ] {
            assert!(!is_burn(name), "{name}");
        }
    }

    #[test]
    fn a_worker_may_not_rerun_its_constructors() {
        let good = named(&["main", "burn_autodiff::backward"]);
        assert!(check_names("worker_cpu_bg.wasm", &good).is_ok());
        let wrapped = named(&["main.command_export", "burn_autodiff::backward"]);
        assert!(check_names("worker_cpu_bg.wasm", &wrapped).is_err());
        assert!(
            check_names("worker_cpu_bg.wasm", &named(&["main"])).is_err(),
            "a worker without the engine is a broken build"
        );
    }

    #[test]
    fn names_follow_the_content_everywhere() {
        let folder = std::env::temp_dir().join(format!("microbatch-lab-finish-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("w_bg.wasm"), "wasm").unwrap();
        fs::write(folder.join("w.js"), "new URL('w_bg.wasm', import.meta.url)").unwrap();
        fs::write(folder.join("w_loader.js"), "import init from './w.js'").unwrap();
        fs::write(folder.join("index.html"), "<meta name=\"w\" content=\"w_loader.js\">").unwrap();
        hash_names(&folder, "w", &WORKER_SUFFIXES).unwrap();
        let index = fs::read_to_string(folder.join("index.html")).unwrap();
        let loader = index.split('"').nth(3).unwrap();
        assert!(loader.starts_with("w-") && loader.ends_with("_loader.js"));
        let stem = loader.strip_suffix("_loader.js").unwrap();
        assert_eq!(
            fs::read_to_string(folder.join(loader)).unwrap(),
            format!("import init from './{stem}.js'")
        );
        assert!(
            fs::read_to_string(folder.join(format!("{stem}.js")))
                .unwrap()
                .contains(&format!("'{stem}_bg.wasm'"))
        );
        assert!(folder.join(format!("{stem}_bg.wasm")).exists());
        fs::remove_dir_all(&folder).unwrap();
    }
}
