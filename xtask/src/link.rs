//! The script that fetches the second half: as the tool writes it, and with what a page on any host needs.

use crate::halves::{LATER, PAGE};

/// What the tool calls the second half, by the name in `src/bin/app.rs`.
pub const CUT_OFF: &str = "split_later.wasm";

/// Without a word on what to do about an answer that is none.
const FETCH: &str = "fetch(new URL(";
const FETCHED: &str = "fetched(new URL(";

/// What went wrong may lie in the browser's cache, so only the first attempt may be answered from there. An answer other than 200 is named
/// by its number, and half a minute is the most that an attempt takes, its body included: after it a person can ask again.
const HOW: &str = r#"
let asked = 0;
async function fetched(url) {
    const cache = asked++ ? "reload" : "default";
    const response = await fetch(url, { cache, signal: AbortSignal.timeout(30000) });
    if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
    return response;
}
"#;

/// Needs a server that knows wasm by its type. The page's first half does without, so the second does, too.
const STREAMED: &str = "WebAssembly.instantiateStreaming(src, imports)";
const EITHER_WAY: &str = "(async (response) => response.headers.get(\"content-type\") === \"application/wasm\" \
     ? WebAssembly.instantiateStreaming(response, imports) \
     : WebAssembly.instantiate(await response.arrayBuffer(), imports))(await src)";

/// The tool's script with all of that.
pub fn mended(script: &str) -> Result<String, String> {
    let script = renamed(script, CUT_OFF, &format!("{PAGE}{LATER}"))?;
    let script = renamed(&script, FETCH, FETCHED)?;
    let script = renamed(&script, STREAMED, EITHER_WAY)?;
    Ok(script + HOW)
}

/// An error where there is nothing to rename: then the tool has changed.
pub fn renamed(text: &str, from: &str, to: &str) -> Result<String, String> {
    if text.contains(from) {
        Ok(text.replace(from, to))
    } else {
        Err(format!("expected `{from}` in what was generated"))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{FETCH, STREAMED, mended, renamed};

    /// As the tool writes it, shortened.
    pub(crate) const SCRIPT: &str = r#"import { initSync } from "./app.js";
export const __wasm_split_load_later = wrapAsyncCb(makeLoad(() => {
    const src = fetch(new URL("./split_later.wasm", import.meta.url));
    src.catch(() => {});
    return async (imports) => (WebAssembly.instantiateStreaming(src, imports));
}, []));
"#;

    #[test]
    fn an_attempt_ends_and_the_next_asks_the_host_itself() {
        let script = mended(SCRIPT).unwrap();
        assert!(script.contains("const src = fetched(new URL(\"./app_later.wasm\", import.meta.url));"));
        assert_eq!(script.matches(" fetch(").count(), 1, "all go the same way");
        assert!(
            script.contains("asked++ ? \"reload\" : \"default\"")
                && script.contains("await fetch(url, { cache, signal:")
        );
        assert!(script.contains("AbortSignal.timeout(30000)"));
        assert!(script.contains("if (!response.ok) throw new Error(`${url}: ${response.status}"));
    }

    #[test]
    fn a_host_need_not_know_wasm_by_its_type() {
        let script = mended(SCRIPT).unwrap();
        assert!(
            script.contains("instantiateStreaming(response, imports)") && script.contains("response.arrayBuffer()")
        );
        assert!(!script.contains(STREAMED));
    }

    #[test]
    fn another_tool_is_noticed() {
        assert!(renamed("a b", "c", "d").is_err());
        for gone in [FETCH, STREAMED, "split_later.wasm"] {
            let trouble = mended(&SCRIPT.replace(gone, "")).unwrap_err();
            assert!(trouble.contains(gone), "{trouble}");
        }
    }
}
