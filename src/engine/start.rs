//! What a wasm module must do once before anything else.

/// Runs the static constructors that burn brings along (`inventory`, through cubecl's IR). Call it once, first, from `main`.
///
/// Unless something refers to `__wasm_call_ctors`, the linker wraps EVERY export in a call to it, so that each call from JavaScript
/// runs thousands of constructors again: 5 ms a launch. Referring to it here takes the wrapping away, and this call does the work once.
#[cfg(target_arch = "wasm32")]
#[expect(unsafe_code, reason = "the linker's own symbol can be named in no other way")]
pub fn call_constructors_once() {
    use std::sync::Once;

    unsafe extern "C" {
        fn __wasm_call_ctors();
    }
    static CALLED: Once = Once::new();
    // SAFETY: the linker defines the symbol in every wasm executable; it takes nothing, returns nothing, and runs once.
    CALLED.call_once(|| unsafe { __wasm_call_ctors() });
}

/// Nothing to do: natively the loader has run them.
#[cfg(not(target_arch = "wasm32"))]
pub fn call_constructors_once() {}
