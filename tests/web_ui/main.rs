//! The page's components, in a browser: `cargo test --profile page --target wasm32-unknown-unknown --features ui --test web_ui`.
#![cfg(all(target_arch = "wasm32", feature = "ui"))]
#![allow(clippy::unwrap_used, reason = "what is not there fails its test at once")]

mod form;
mod harness;
mod lanes;
mod later;
mod plurals;
mod results;
mod shaders;
mod tools;

use wasm_bindgen_test::wasm_bindgen_test_configure;

wasm_bindgen_test_configure!(run_in_browser);
