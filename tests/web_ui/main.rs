//! The page's components, in a browser: `wasm-pack test --headless --chrome --features ui --test web_ui`.
#![cfg(all(target_arch = "wasm32", feature = "ui"))]
#![allow(clippy::unwrap_used, reason = "what is not there fails its test at once")]

mod form;
mod harness;
mod lanes;
mod results;
mod tools;

use wasm_bindgen_test::wasm_bindgen_test_configure;

wasm_bindgen_test_configure!(run_in_browser);
