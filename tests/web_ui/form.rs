//! What a person sets.

use microbatch_lab::{
    lab::{Lab, Language, Msg, msg::Effect},
    setup::{Draft, Key},
    ui::{text::Locale, words::fields::label as label_of},
};
use wasm_bindgen_test::wasm_bindgen_test;

use crate::harness::{loads, mount, press, report_known_group, rest, settle};

#[wasm_bindgen_test]
async fn the_product_is_written_out_as_it_is_typed() {
    let page = mount(Lab::default());
    settle().await;
    page.type_into("m:", "2").await;
    page.type_into("A:", "8").await;
    page.type_into("D:", "2").await;
    let product = page.text(".product output");
    assert!(product.contains("2 × 8 × 2 = 32"), "{product}");
    assert!(product.contains("16 on each replica"), "{product}");
    page.store.dispatch(Msg::Language(Language::Russian));
    settle().await;
    let product = page.text(".product output");
    assert!(
        product.contains("32 примера") && product.contains("по 16 на каждой реплике"),
        "{product}"
    );
}

#[wasm_bindgen_test]
async fn a_bad_value_is_named_at_its_field_in_both_languages() {
    let page = mount(Lab::default());
    settle().await;
    page.type_into("A:", "1.5").await;
    let input = page.labelled("A:");
    assert_eq!(input.get_attribute("aria-invalid").as_deref(), Some("true"));
    let message = format!("[id='{}']", input.get_attribute("aria-describedby").unwrap());
    assert_eq!(page.text(&message).trim(), "Use a whole number, without a fraction.");
    page.store.dispatch(Msg::Language(Language::Russian));
    settle().await;
    assert_eq!(page.text(&message).trim(), "Нужно целое число, без дробной части.");
    page.type_into("A:", "4").await;
    assert_eq!(page.labelled("A:").get_attribute("aria-invalid"), None);
    assert_eq!(page.text(&message).trim(), "");
}

#[wasm_bindgen_test]
async fn a_preset_fills_the_form_and_starts_nothing() {
    let page = mount(Lab::default());
    settle().await;
    page.button("512 tokens at 2, 1,536 at 4").click();
    settle().await;
    assert_eq!(page.labelled("Lengths, e.g.").value(), "512, 1536");
    assert_eq!(page.labelled("m:").value(), "1");
    assert!(
        page.effects
            .borrow()
            .iter()
            .all(|effect| matches!(effect, Effect::WriteLink(_)))
    );
}

#[wasm_bindgen_test]
async fn every_setting_has_a_field() {
    let page = mount(Lab::default());
    settle().await;
    // A file and the lanes have controls of their own.
    let own = [Key::FileName, Key::Lanes];
    let missing: Vec<&str> = Key::ALL
        .iter()
        .filter(|key| !own.contains(key))
        .map(|key| key.name())
        .filter(|name| page.all(&format!("[id='field-{name}']")).is_empty())
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
    // Earlier runs are told apart by the same labels.
    for (language, locale) in [(Language::English, Locale::en), (Language::Russian, Locale::ru)] {
        page.store.dispatch(Msg::Language(language));
        settle().await;
        for &key in Key::ALL.iter().filter(|key| !own.contains(key)) {
            let label = page.text(&format!("label[for='field-{}']", key.name()));
            assert_eq!(label, label_of(locale, key));
        }
    }
}

#[wasm_bindgen_test]
async fn a_section_opens_where_something_is_to_be_mended() {
    let page = mount(Lab::default());
    settle().await;
    let section = || {
        let field = page.one("[id='field-memory_limit']");
        field.closest("details.section").unwrap().unwrap()
    };
    assert!(!section().has_attribute("open"));
    page.store.dispatch(Msg::Edit(Key::MemoryLimit, "0".to_owned()));
    settle().await;
    assert!(section().has_attribute("open"));
    assert_eq!(page.text("[id='field-memory_limit-error']").trim(), "Use 1 or more.");
}

#[wasm_bindgen_test]
async fn data_of_no_use_is_told_at_the_field_that_mends_it() {
    let page = mount(Lab::default());
    settle().await;
    let draft = Draft::default().with(Key::LastGroup, "drop").with(Key::Examples, "3");
    page.store.dispatch_all([Msg::Replace(draft), Msg::Reset]);
    settle().await;
    let field = page.one("[id='field-last_group']");
    assert_eq!(field.get_attribute("aria-invalid").as_deref(), Some("true"));
    assert!(
        page.text("[id='field-last_group-error']")
            .contains("no update would ever come")
    );
    assert_eq!(page.one("input[accept*='jsonl']").get_attribute("aria-invalid"), None);
    page.store.dispatch(Msg::Edit(Key::LastGroup, "process".to_owned()));
    settle().await;
    assert_eq!(field.get_attribute("aria-invalid"), None);
}

#[wasm_bindgen_test]
async fn a_dismissed_message_leaves_the_focus_on_a_button() {
    let page = mount(Lab::default());
    settle().await;
    let error = microbatch_lab::setup::codec::from_link("nonsense").unwrap_err();
    page.store.dispatch(Msg::BadLink(error));
    settle().await;
    let dismiss = page.button("Dismiss");
    dismiss.focus().unwrap();
    dismiss.click();
    rest(50).await;
    assert_eq!(page.all(".alert").len(), 0);
    let active = web_sys::window().unwrap().document().unwrap().active_element().unwrap();
    assert_eq!(active.tag_name().to_lowercase(), "button");
}

#[wasm_bindgen_test]
async fn keys_work_except_while_something_is_typed() {
    let page = mount(Lab::default());
    settle().await;
    report_known_group(page.store);
    settle().await;
    let before = loads(&page);
    press(&page.labelled("m:"), "KeyR");
    settle().await;
    assert_eq!(loads(&page), before, "typing into a field is no command");
    press(&page.one("main"), "KeyR");
    settle().await;
    assert_eq!(loads(&page), before + 1);
}

#[wasm_bindgen_test]
async fn a_link_that_cannot_be_read_is_told_and_the_default_stays() {
    let page = mount(Lab::default());
    settle().await;
    let error = microbatch_lab::setup::codec::from_link("v=1&A=%4").unwrap_err();
    page.store.dispatch(Msg::BadLink(error));
    settle().await;
    let alert = page.text("[role='alert']");
    assert!(
        alert.contains("cut off or garbled") && alert.contains("default experiment"),
        "{alert}"
    );
    assert_eq!(page.labelled("A:").value(), Key::Accumulation.default_text());
    page.store.dispatch(Msg::Language(Language::Russian));
    settle().await;
    assert!(page.text("[role='alert']").contains("обрезана или испорчена"));
}

#[wasm_bindgen_test]
async fn a_file_that_cannot_be_used_is_refused_where_it_was_given() {
    let page = mount(Lab::default());
    settle().await;
    let refused = microbatch_lab::data::read_file(&[0x61, 0xff]).unwrap_err();
    page.store.dispatch(Msg::OwnFile(Err(refused)));
    settle().await;
    let message = page.text("#own-file-error");
    assert!(
        message.contains("not UTF-8") && message.contains("Save it as UTF-8"),
        "{message}"
    );
    assert_eq!(
        page.one("input[accept*='jsonl']")
            .get_attribute("aria-invalid")
            .as_deref(),
        Some("true")
    );
}

#[wasm_bindgen_test]
async fn a_lengths_file_that_cannot_be_read_is_told_at_its_own_input() {
    let page = mount(Lab::default());
    settle().await;
    page.store.dispatch(Msg::Edit(Key::Lengths, "list".to_owned()));
    settle().await;
    let input = page.one("[aria-describedby='lengths-file-error']");
    let give = js_sys::Function::new_with_args(
        "input, text",
        "const given = new DataTransfer(); given.items.add(new File([text], 'lengths.txt')); \
         input.files = given.files; input.dispatchEvent(new Event('change'))",
    );
    give.call2(&wasm_bindgen::JsValue::NULL, &input, &"12, none".into())
        .unwrap();
    rest(300).await;
    let message = page.text("#lengths-file-error");
    assert!(message.contains("\"none\", not a whole number"), "{message}");
    assert_eq!(input.get_attribute("aria-invalid").as_deref(), Some("true"));
    assert_eq!(page.text("#own-file-error").trim(), "");
    give.call2(&wasm_bindgen::JsValue::NULL, &input, &"12, 30".into())
        .unwrap();
    rest(300).await;
    assert_eq!(page.labelled("Lengths, e.g.").value(), "12, 30");
    assert_eq!(page.text("#lengths-file-error").trim(), "");
}

#[wasm_bindgen_test]
async fn the_message_about_a_field_leads_to_it() {
    let page = mount(Lab::default());
    settle().await;
    page.store.dispatch(Msg::Edit(Key::Rate, "fast".to_owned()));
    settle().await;
    // The document holds the pages of other tests, too; the first field of that name is the one that is led to.
    let document = web_sys::window().unwrap().document().unwrap();
    let first = document.query_selector("#field-rate").unwrap().unwrap();
    let fold = first.closest("details").unwrap().unwrap();
    fold.remove_attribute("open").unwrap();
    page.button("1 setting needs mending before a run can start.").click();
    settle().await;
    assert!(fold.has_attribute("open"));
    let focused = document.active_element().map(|element| element.id());
    assert_eq!(focused.as_deref(), Some("field-rate"));
}
