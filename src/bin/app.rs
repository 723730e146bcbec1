//! The page.

use microbatch_lab::ui::{self, later::Later};
use wasm_split_helpers::{SplitLoaderError, wasm_split};

fn main() {
    console_error_panic_hook::set_once();
    ui::mount(|| Box::pin(async { fetched().await.ok() }));
}

/// Runs in the second wasm, which `cargo xtask finish` cuts off here.
#[allow(clippy::unnecessary_wraps, reason = "fetching it fails, not running it")]
#[wasm_split(later, fallible)]
fn fetched() -> Result<Later, SplitLoaderError> {
    Ok(ui::later::later())
}
