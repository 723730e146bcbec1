//! Every shader parses, validates and has one entry point, its imports resolved as for a device, checked without a GPU; all failures in one
//! report.
#![cfg(not(target_arch = "wasm32"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a broken premise must fail its test at once"
)]

// No word of burn in it, so that what resolves imports for a device is tried here.
#[path = "../src/engine/kernels/import.rs"]
mod import;

use std::{fs, path::Path};

use naga::valid::{Capabilities, ValidationFlags, Validator};

#[test]
fn every_shader_is_valid() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/shaders"));
    let mut failures = Vec::new();
    let mut checked = 0;
    for path in shaders(folder) {
        let source = fs::read_to_string(&path).unwrap();
        if path.starts_with(folder.join("shared")) {
            continue;
        }
        if let Err(failure) = check(&import::repeated(&import::resolved(&source), 4)) {
            failures.push(format!("{}: {failure}", path.strip_prefix(folder).unwrap().display()));
        }
        checked += 1;
    }
    assert!(checked > 0, "no shader in {}", folder.display());
    assert!(
        failures.is_empty(),
        "{} of {checked} shaders:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// What is shared lies in shaders/shared, has a name in the table, and is shared by two at least.
#[test]
fn every_shared_file_is_imported() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/shaders"));
    let names: Vec<String> = shaders(&folder.join("shared"))
        .iter()
        .map(|path| format!("shared/{}", path.file_stem().unwrap().to_string_lossy()))
        .collect();
    assert_eq!(names, import::SHARED.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    let sources: Vec<String> = shaders(folder)
        .iter()
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    for name in names {
        let line = format!("#import {name}");
        let users = sources
            .iter()
            .filter(|source| source.lines().any(|l| l == line))
            .count();
        assert!(users > 1, "{name} is imported by {users} files");
    }
}

#[test]
fn an_unknown_import_is_no_valid_shader() {
    let entry = "@compute @workgroup_size(1)\nfn main() {}\n";
    assert_eq!(check(&import::resolved(entry)), Ok(()));
    assert!(check(&import::resolved(&format!("#import shared/nothing\n{entry}"))).is_err());
    let used = format!("#import shared/erf\n{entry}fn f() -> f32 {{ return erf(1.0); }}\n");
    assert_eq!(check(&import::resolved(&used)), Ok(()));
}

fn shaders(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(shaders(&path));
        } else if path.extension().is_some_and(|extension| extension == "wgsl") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn check(source: &str) -> Result<(), String> {
    let module = naga::front::wgsl::parse_str(source).map_err(|error| error.emit_to_string(source))?;
    // No capability beyond those every WebGPU device has.
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::empty());
    validator
        .validate(&module)
        .map_err(|error| error.emit_to_string(source))?;
    let entries: Vec<&str> = module.entry_points.iter().map(|entry| entry.name.as_str()).collect();
    if entries != ["main"] {
        return Err(format!("one entry point named main is wanted, found {entries:?}"));
    }
    let waits = [
        "workgroupBarrier",
        "storageBarrier",
        "workgroupUniformLoad",
        "var<workgroup>",
    ];
    match waits.iter().find(|wait| source.contains(**wait)) {
        Some(wait) => Err(format!("uses {wait}; software adapters pay for each barrier")),
        None => Ok(()),
    }
}
