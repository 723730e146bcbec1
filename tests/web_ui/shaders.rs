//! The shaders beside what they do. No file of theirs is served here: the browser's `fetch` is replaced for as long as a test lasts.

use js_sys::{Function, Reflect};
use microbatch_lab::lab::{Lab, Language, Msg};
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_test::wasm_bindgen_test;
use web_sys::{Element, HtmlElement};

use crate::harness::{Mounted, loads, mount, press, report_known_group, rest, settle};

/// Puts the browser's own `fetch` back.
struct Fetching(JsValue);

impl Drop for Fetching {
    fn drop(&mut self) {
        Reflect::set(&js_sys::global(), &"fetch".into(), &self.0).unwrap();
    }
}

/// From now on `fetch` answers with what `body` makes of `url`.
fn fetching(body: &str) -> Fetching {
    let global = js_sys::global();
    let own = Reflect::get(&global, &"fetch".into()).unwrap();
    let replaced = Function::new_with_args("url", &format!("return Promise.resolve({body})"));
    Reflect::set(&global, &"fetch".into(), &replaced).unwrap();
    Fetching(own)
}

async fn page_with_shaders() -> Mounted {
    let page = mount(Lab::default());
    settle().await;
    unfold(&page.one("section:has(> details #shaders-title) > details")).await;
    page
}

/// Opens `details`; the browser tells of it in a task of its own, and so come the answers.
async fn unfold(details: &Element) {
    details.set_attribute("open", "").unwrap();
    rest(60).await;
    settle().await;
}

#[wasm_bindgen_test]
async fn every_shader_says_what_it_does_in_both_languages() {
    let page = page_with_shaders().await;
    let entries = page.all(".shaders > li");
    assert!(entries.len() > 30, "{} shaders", entries.len());
    let latin = |text: &str| text.chars().all(|c| !('\u{400}'..='\u{4ff}').contains(&c));
    let abouts = || -> Vec<String> {
        let all = page.all(".shaders > li > p:first-of-type");
        all.iter().map(|p| p.text_content().unwrap()).collect()
    };
    assert!(abouts().len() == entries.len() && abouts().iter().all(|text| latin(text)));
    let affine = page.text("#shader-program-affine");
    assert!(affine.contains("program/affine.wgsl") && affine.contains("Held against engine::model::layers::affine"));
    page.store.dispatch(Msg::Language(Language::Russian));
    settle().await;
    assert!(abouts().iter().all(|text| !latin(text)));
    assert!(page.all(".source").is_empty(), "nothing is fetched unasked");
    page.root.remove();
}

#[wasm_bindgen_test]
async fn a_text_that_does_not_come_can_be_asked_for_again() {
    let page = page_with_shaders().await;
    let details = page.one("#shader-gelu > details");
    let summary = page.text("#shader-gelu > details > summary");
    assert_eq!(summary.trim(), "Source gelu.wgsl");
    for answer in [
        "new Response('', { status: 404 })",
        "new Response('<!doctype html>')",
        "Promise.reject(new TypeError())",
    ] {
        let _fetching = fetching(answer);
        details.remove_attribute("open").unwrap();
        rest(30).await;
        unfold(&details).await;
        let failed = page.text("#shader-gelu .failed");
        assert!(failed.contains("could not be fetched"), "{answer}: {failed}");
        assert!(page.all(".source").is_empty(), "{answer}");
    }
    let _fetching = fetching("new Response('// ' + url + '\\n#import shared/erf\\nfn f() {}\\n')");
    page.button("Try again").click();
    rest(60).await;
    settle().await;
    assert!(page.all("#shader-gelu .failed").is_empty());
    let text = page.text("#shader-gelu .source");
    assert_eq!(text, "// /gelu.wgsl\n#import shared/erf\nfn f() {}\n");
    let source = page.one("#shader-gelu .source");
    assert_eq!(source.get_attribute("tabindex").as_deref(), Some("0"));
    let name = source.get_attribute("aria-labelledby").unwrap();
    assert_eq!(page.text(&format!("#{name}")), "gelu.wgsl");
    // Who scrolls in it by Space must not start a run, and R there resets nothing.
    report_known_group(page.store);
    let before = loads(&page);
    press(&source, "KeyR");
    assert_eq!(loads(&page), before);
    press(&page.one("#shader-gelu"), "KeyR");
    assert_eq!(loads(&page), before + 1);
    page.root.remove();
}

#[wasm_bindgen_test]
async fn what_a_shader_imports_is_one_press_away() {
    let page = page_with_shaders().await;
    let _fetching = fetching("new Response(url.endsWith('/gelu.wgsl') ? '#import shared/erf\\n' : 'fn erf() {}\\n')");
    unfold(&page.one("#shader-gelu > details")).await;
    let link: HtmlElement = page.one("#shader-gelu .link").unchecked_into();
    assert_eq!(link.text_content().unwrap(), "shared/erf.wgsl");
    link.click();
    rest(60).await;
    settle().await;
    assert_eq!(page.text("#shader-shared-erf .source"), "fn erf() {}\n");
    assert!(page.all("#shader-shared-erf .shader-imports").is_empty());
    page.root.remove();
}
