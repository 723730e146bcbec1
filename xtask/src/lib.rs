//! What a fresh machine needs to build, check and serve Microbatch Lab.
//!
//! `cargo xtask serve | test | build | bench | doctor`; `finish` is called by trunk after each build (see `Trunk.toml`).

pub mod belongs;
pub mod bench;
pub mod build;
pub mod cargo;
pub mod checks;
pub mod doctor;
pub mod finish;
pub mod halves;
pub mod install;
pub mod link;
pub mod server;
pub mod shell;
pub mod sizes;
pub mod sources;
pub mod stamp;
pub mod tools;
pub mod wasm;

use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map_or_else(PathBuf::new, Path::to_path_buf)
}

/// Where trunk puts the finished site.
pub fn dist() -> PathBuf {
    root().join("dist")
}
