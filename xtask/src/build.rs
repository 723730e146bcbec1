//! Building the site with trunk.

use std::time::Instant;

use crate::{dist, shell, sizes, stamp};

/// Builds, and reports sizes.
pub fn build() -> Result<(), String> {
    // Taken before: a file changed during the build must make the next call build again.
    let fingerprint = stamp::fingerprint();
    shell::run(
        "Building the page and the two workers, some minutes the first time",
        shell::command("trunk build"),
    )?;
    stamp::write(&fingerprint)?;
    sizes::report(&dist())
}

/// Builds, unless nothing changed since the last build.
pub fn build_if_stale() -> Result<(), String> {
    let start = Instant::now();
    if stamp::is_fresh() {
        println!(
            "==> Nothing changed since the last build ({})",
            shell::seconds(start.elapsed())
        );
        return Ok(());
    }
    build()
}
