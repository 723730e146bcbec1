//! What stands in the place of what is fetched later.

use std::{
    future::ready,
    sync::atomic::{AtomicBool, Ordering},
};

use microbatch_lab::{
    lab::{Lab, Language, Msg},
    ui::later::{
        coming::{Coming, Fetch},
        later,
    },
};
use wasm_bindgen_test::wasm_bindgen_test;

use crate::harness::{Mounted, mount_with, rest, settle};

/// The messages of all that could not be fetched.
fn told(page: &Mounted) -> Vec<String> {
    let all = page.all(".later-failed p");
    all.iter().map(|p| p.text_content().unwrap()).collect()
}

#[wasm_bindgen_test]
async fn what_is_not_there_yet_is_announced() {
    let never: Fetch = || Box::pin(std::future::pending());
    let page = mount_with(Lab::default(), move || Coming::after_paint(never));
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
