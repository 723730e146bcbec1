//! What stands in the place of what is fetched later.

use std::{
    future::ready,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use microbatch_lab::{
    lab::{Lab, Language, Msg},
    setup::Key,
    ui::later::{
        coming::{Coming, Fetch},
        later,
    },
};
use wasm_bindgen::JsCast as _;
use wasm_bindgen_test::wasm_bindgen_test;
use web_sys::{Document, Element, HtmlElement};

use crate::harness::{Mounted, mount_with, rest, settle};

const NEVER: Fetch = || Box::pin(std::future::pending());

fn document() -> Document {
    web_sys::window().unwrap().document().unwrap()
}

fn focused() -> Element {
    document().active_element().unwrap()
}

/// What looks a field up asks the document, which holds the pages of other tests, too.
fn forget_other_pages() {
    let pages = document().query_selector_all("body > section").unwrap();
    for at in 0..pages.length() {
        pages.get(at).unwrap().unchecked_into::<Element>().remove();
    }
}

/// The messages of all that could not be fetched.
fn told(page: &Mounted) -> Vec<String> {
    let all = page.all(".later-failed p");
    all.iter().map(|p| p.text_content().unwrap()).collect()
}

#[wasm_bindgen_test]
async fn what_is_not_there_yet_is_announced() {
    let page = mount_with(Lab::default(), move || Coming::after_paint(NEVER));
    settle().await;
    assert!(page.root.text_content().unwrap().contains("Loading…"));
    page.store.dispatch(Msg::Language(Language::Russian));
    settle().await;
    assert!(page.root.text_content().unwrap().contains("Загружается…"));
    assert!(page.all(".journal-panel").is_empty());
}

#[wasm_bindgen_test]
async fn what_could_not_be_fetched_can_be_asked_for_again() {
    static ASKED: AtomicBool = AtomicBool::new(false);
    let second_time: Fetch = || {
        let again = ASKED.swap(true, Ordering::Relaxed);
        Box::pin(ready(again.then(later)))
    };
    let page = mount_with(Lab::default(), move || Coming::after_paint(second_time));
    rest(200).await;
    settle().await;
    let messages = told(&page);
    assert!(messages.len() > 1 && messages.iter().all(|text| text.contains("reload the page")));
    page.store.dispatch(Msg::Language(Language::Russian));
    settle().await;
    assert!(told(&page).iter().all(|text| text.contains("перезагрузите страницу")));
    page.store.dispatch(Msg::Language(Language::English));
    settle().await;
    page.button("Try again").click();
    // They are drawn a few in a frame.
    rest(400).await;
    settle().await;
    assert!(told(&page).is_empty());
    assert_eq!(page.all(".journal-panel").len(), 1);
}

#[wasm_bindgen_test]
async fn the_button_stays_until_its_part_is_drawn_and_hands_the_focus_on() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let third_time: Fetch = || {
        let before = ASKED.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            rest(100).await;
            (before > 1).then(later)
        })
    };
    let page = mount_with(Lab::default(), move || Coming::after_paint(third_time));
    rest(300).await;
    settle().await;
    let button: HtmlElement = page.one(".results > .later-failed button").unchecked_into();
    button.focus().unwrap();
    for attempt in 2..=3 {
        button.click();
        // It is at it already.
        button.click();
        settle().await;
        assert!(focused() == *button && page.text(".later-status").contains("Loading"));
        assert_eq!(button.get_attribute("aria-disabled").as_deref(), Some("true"));
        rest(400).await;
        settle().await;
        assert_eq!(ASKED.load(Ordering::Relaxed), attempt);
        if attempt == 2 {
            assert!(focused() == *button && !button.has_attribute("aria-disabled"));
            assert!(told(&page)[0].contains("reload the page"));
        }
    }
    assert!(page.all(".later-failed").is_empty());
    let drawn = page.one("table.compare").closest("section").unwrap().unwrap();
    assert!(focused() == drawn, "{}", focused().outer_html());
}

#[wasm_bindgen_test]
async fn a_failure_is_announced_once() {
    let fails: Fetch = || Box::pin(ready(None));
    let page = mount_with(Lab::default(), move || Coming::after_paint(fails));
    let status = page.one(".later-status");
    assert_eq!(status.get_attribute("role").as_deref(), Some("status"));
    assert_eq!(status.text_content().unwrap(), "");
    rest(200).await;
    settle().await;
    assert!(status.text_content().unwrap().starts_with("Parts of the page"));
    assert!(told(&page).len() > 1);
    assert!(page.all(".later-failed [role]").is_empty());
    page.store.dispatch(Msg::Language(Language::Russian));
    settle().await;
    assert!(status.text_content().unwrap().starts_with("Части страницы"));
}

#[wasm_bindgen_test]
async fn a_field_that_is_not_there_yet_is_led_to_once_it_is_drawn() {
    static ASKED: AtomicBool = AtomicBool::new(false);
    let second_time: Fetch = || {
        let again = ASKED.swap(true, Ordering::Relaxed);
        Box::pin(ready(again.then(later)))
    };
    forget_other_pages();
    let page = mount_with(Lab::default(), move || Coming::after_paint(second_time));
    rest(200).await;
    page.store.dispatch(Msg::Edit(Key::Rate, "fast".to_owned()));
    settle().await;
    let section = page.one("details[data-fields~='rate']");
    section.remove_attribute("open").unwrap();
    page.button("1 setting needs mending before a run can start.").click();
    settle().await;
    assert!(section.has_attribute("open"));
    let again = section.query_selector(".later-failed button").unwrap().unwrap();
    assert!(focused() == again, "{}", focused().outer_html());
    again.unchecked_into::<HtmlElement>().click();
    rest(500).await;
    assert_eq!(focused().id(), "field-rate");
}

#[wasm_bindgen_test]
async fn the_section_stands_in_for_a_field_that_is_being_fetched() {
    forget_other_pages();
    let page = mount_with(Lab::default(), move || Coming::after_paint(NEVER));
    page.store.dispatch(Msg::Edit(Key::Rate, "fast".to_owned()));
    settle().await;
    page.button("1 setting needs mending before a run can start.").click();
    settle().await;
    assert!(focused() == page.one("details[data-fields~='rate'] > summary"));
}

#[wasm_bindgen_test]
async fn nothing_is_said_of_a_part_that_would_be_hidden() {
    let page = mount_with(Lab::default(), move || Coming::after_paint(NEVER));
    settle().await;
    let place = page.one(".lengths-file");
    assert!(place.has_attribute("hidden") && place.text_content().unwrap().contains("Loading"));
    page.store.dispatch(Msg::Edit(Key::Lengths, "list".to_owned()));
    settle().await;
    assert!(!place.has_attribute("hidden"));
}
