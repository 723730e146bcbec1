//! The page's components, in a browser: `wasm-pack test --headless --chrome --features ui --test web_ui`.
#![cfg(all(target_arch = "wasm32", feature = "ui"))]

use leptos::prelude::*;
use microbatch_lab::{
    batch::{ConventionId, Counters, ExampleId, GroupLoss, GroupPlan, MicrobatchFacts, MicrobatchPlan},
    lab::{Lab, Language, Msg, msg::Effect},
    protocol::{
        ChoiceReason, Chosen, DeviceKind, DeviceReport, Event, GroupRow, LaneRow, Outcome, ReplicaSpread, RunFacts,
        RunId, SelfCheck, VERSION,
    },
    setup::{Draft, Key},
    ui::{Page, Store},
};
use std::{cell::RefCell, rc::Rc};
use wasm_bindgen::JsCast as _;
use wasm_bindgen_test::*;
use web_sys::{Element, HtmlElement, HtmlInputElement};

wasm_bindgen_test_configure!(run_in_browser);

/// A page in a section of its own, with a record of what it asked of the outside.
struct Mounted {
    root: HtmlElement,
    store: Store,
    effects: Rc<RefCell<Vec<Effect>>>,
}

fn mount(lab: Lab) -> Mounted {
    let root: HtmlElement = document().create_element("section").unwrap().unchecked_into();
    document().body().unwrap().append_child(&root).unwrap();
    let effects: Rc<RefCell<Vec<Effect>>> = Rc::default();
    let record = Rc::clone(&effects);
    let slot = Rc::new(RefCell::new(None));
    let out = Rc::clone(&slot);
    let handle = leptos::mount::mount_to(root.clone(), move || {
        let store = Store::new(lab, move |_, more| record.borrow_mut().extend(more));
        *out.borrow_mut() = Some(store);
        view! { <Page store=store /> }
    });
    handle.forget();
    let store = slot.borrow().unwrap();
    Mounted { root, store, effects }
}

impl Mounted {
    fn all(&self, selector: &str) -> Vec<Element> {
        let list = self.root.query_selector_all(selector).unwrap();
        (0..list.length())
            .filter_map(|at| list.get(at))
            .map(|node| node.unchecked_into())
            .collect()
    }

    fn one(&self, selector: &str) -> Element {
        self.root
            .query_selector(selector)
            .unwrap()
            .unwrap_or_else(|| panic!("no {selector}"))
    }

    fn text(&self, selector: &str) -> String {
        self.one(selector).text_content().unwrap()
    }

    fn button(&self, name: &str) -> HtmlElement {
        let buttons = self.all("button");
        let found = buttons
            .iter()
            .find(|button| button.text_content().unwrap().trim() == name);
        found
            .unwrap_or_else(|| panic!("no button {name}"))
            .clone()
            .unchecked_into()
    }

    fn labelled(&self, start: &str) -> HtmlInputElement {
        let labels = self.all("label[for]");
        let label = labels
            .iter()
            .find(|label| label.text_content().unwrap().trim().starts_with(start));
        let id = label
            .unwrap_or_else(|| panic!("no label {start}"))
            .get_attribute("for")
            .unwrap();
        self.one(&format!("[id='{id}']")).unchecked_into()
    }

    async fn type_into(&self, start: &str, text: &str) {
        let input = self.labelled(start);
        input.set_value(text);
        input.dispatch_event(&web_sys::Event::new("input").unwrap()).unwrap();
        settle().await;
    }
}

async fn settle() {
    leptos::task::tick().await;
    leptos::task::tick().await;
}

/// The first group of the preset "512 tokens at 2, 1,536 at 4", as a worker would report it.
fn known_group() -> GroupRow {
    let microbatch = |id: u32, supervised: u64, index: u32| MicrobatchPlan {
        ids: vec![ExampleId(id)],
        facts: MicrobatchFacts {
            replica: 0,
            index,
            examples: 1,
            scored_examples: 1,
            supervised,
            positions: supervised,
        },
        padded: 0,
    };
    let plan = GroupPlan {
        number: 0,
        epoch: 0,
        partial: false,
        replicas: 1,
        nominal_accumulation: 2,
        microbatches: vec![microbatch(0, 512, 0), microbatch(1, 1536, 1)],
    };
    let sums = [1024.0, 6144.0];
    let lane = || LaneRow {
        outcome: Outcome::Applied,
        loss_sums: sums.to_vec(),
        loss: GroupLoss::from_sums([(sums[0], 512), (sums[1], 1536)]),
        gradient_norm: 1.25,
        rate: 0.1,
        counters: Counters {
            microbatches: 2,
            backwards: 2,
            update_attempts: 1,
            applied_updates: 1,
            examples: 2,
            unique_examples: 2,
            supervised_tokens: 2048,
            padded_tokens: 0,
        },
        checksums: Some([0xaaaa_0000_0000_0000, 0xaaaa_0000_0000_0000, 0xbbbb_0000_0000_0000]),
        apart: None,
        replicas: ReplicaSpread::InStep,
    };
    GroupRow {
        plan,
        dropped: Vec::new(),
        lanes: vec![lane(), lane()],
        elapsed_ms: 20.0,
    }
}

/// A device is usable, the experiment loaded, and its first group has ended.
fn report_known_group(store: Store) {
    let run = RunId(1);
    let facts = RunFacts {
        parameters: 100,
        vocabulary: 3,
        examples: 2,
        groups_per_epoch: 1,
        dropped_per_epoch: 0,
        dropped: Vec::new(),
    };
    let worker = [
        Event::Ready { version: VERSION },
        Event::Opened(DeviceReport {
            kind: "cpu".to_owned(),
            adapter: None,
            open_ms: 1.0,
        }),
        Event::Checked(SelfCheck {
            gradient_error: 1e-7,
            loss_error: 1e-8,
            tolerance: 1e-4,
            took_ms: 3.0,
        }),
    ];
    store.dispatch_all(worker.map(Msg::Worker));
    store.dispatch(Msg::Reset);
    store.dispatch_all([
        Msg::Worker(Event::Loaded { run, facts }),
        Msg::Worker(Event::Groups {
            run,
            rows: vec![known_group()],
        }),
    ]);
}

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
async fn a_card_writes_out_both_divisions() {
    let page = mount(Lab::default());
    settle().await;
    page.button("512 tokens at 2, 1,536 at 4").click();
    settle().await;
    report_known_group(page.store);
    settle().await;
    let lines: Vec<String> = page
        .all(".loss-arithmetic")
        .iter()
        .map(|line| line.text_content().unwrap())
        .collect();
    assert_eq!(
        lines,
        [
            "7168 / 2048 = 3.5",
            "(2 + 4) / 2 = 3",
            "7168 / 2048 = 3.5",
            "(2 + 4) / 2 = 3"
        ]
    );
    let table = page.text(".compare");
    for text in ["aaaa0000 stood still", "bbbb0000 changed by the update", "2048"] {
        assert!(table.contains(text), "{text} in {table}");
    }
    // One token of the short microbatch weighs 2048 / (2 x 512) = 2 under the mean of means, of the long one 2/3.
    let weights = page.text(".sums");
    assert!(weights.contains("×2.000") && weights.contains("×0.667"), "{weights}");
}

#[wasm_bindgen_test]
async fn a_fault_is_told_and_the_record_stays() {
    let page = mount(Lab::default());
    settle().await;
    page.button("512 tokens at 2, 1,536 at 4").click();
    settle().await;
    report_known_group(page.store);
    let fault = microbatch_lab::protocol::Fault::Panicked {
        message: "boom".to_owned(),
    };
    page.store.dispatch(Msg::WorkerDied(fault));
    settle().await;
    let alert = page.text("[role='alert']");
    assert!(
        alert.contains("boom") && alert.contains("What was recorded stays."),
        "{alert}"
    );
    assert!(
        page.effects
            .borrow()
            .iter()
            .any(|effect| matches!(effect, Effect::Respawn(_)))
    );
    assert_eq!(page.text(".loss-arithmetic"), "7168 / 2048 = 3.5");
    page.button("Dismiss").click();
    settle().await;
    assert!(page.all("[role='alert']").is_empty());
}

#[wasm_bindgen_test]
async fn the_grid_shows_every_microbatch_with_its_state() {
    let page = mount(Lab::default());
    settle().await;
    page.button("512 tokens at 2, 1,536 at 4").click();
    settle().await;
    report_known_group(page.store);
    settle().await;
    let cells: Vec<String> = page
        .all(".grid td.cell")
        .iter()
        .map(|cell| cell.text_content().unwrap())
        .collect();
    assert_eq!(cells.len(), 2);
    assert!(
        cells[0].contains("reduced") && cells[0].contains("512 supervised"),
        "{}",
        cells[0]
    );
    assert!(
        cells[1].contains("1536 supervised") && cells[1].contains('4'),
        "{}",
        cells[1]
    );
}

#[wasm_bindgen_test]
async fn lanes_are_chosen_up_to_four_and_never_none() {
    let page = mount(Lab::default());
    settle().await;
    page.store.dispatch(Msg::Replace(
        Draft::default().with(Key::Lanes, ConventionIdName::of(ConventionId::TokenWeighted)),
    ));
    settle().await;
    let boxes = page.all(".lanes-field input[type='checkbox']");
    let checked: Vec<&Element> = boxes
        .iter()
        .filter(|b| b.unchecked_ref::<HtmlInputElement>().checked())
        .collect();
    assert_eq!(checked.len(), 1);
    assert!(checked[0].unchecked_ref::<HtmlInputElement>().disabled());
    for at in 1..4 {
        boxes[at].unchecked_ref::<HtmlInputElement>().click();
        settle().await;
    }
    assert_eq!(page.all("article.card").len(), 4);
    let free = boxes
        .iter()
        .filter(|b| !b.unchecked_ref::<HtmlInputElement>().checked());
    assert!(free.clone().count() > 0);
    assert!(
        free.into_iter()
            .all(|b| b.unchecked_ref::<HtmlInputElement>().disabled())
    );
}

/// The stable name of a convention.
struct ConventionIdName;

impl ConventionIdName {
    fn of(id: ConventionId) -> &'static str {
        microbatch_lab::setup::named::Named::name(id)
    }
}

/// A key pressed on the page, or on `target`.
fn press(target: &Element, code: &str) {
    let send = js_sys::Function::new_with_args(
        "target, code",
        "target.dispatchEvent(new KeyboardEvent('keydown', { code, bubbles: true, cancelable: true }))",
    );
    send.call2(&wasm_bindgen::JsValue::NULL, target, &code.into()).unwrap();
}

fn loads(page: &Mounted) -> usize {
    let effects = page.effects.borrow();
    let is_load = |effect: &&Effect| matches!(effect, Effect::Send(microbatch_lab::protocol::Command::Load { .. }));
    effects.iter().filter(is_load).count()
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
async fn a_software_adapter_gives_the_cpu_device_and_a_line_that_says_so() {
    let page = mount(Lab::default());
    settle().await;
    let reason = ChoiceReason::Software {
        adapter: "SwiftShader".to_owned(),
    };
    page.store.dispatch(Msg::Chosen(Chosen {
        device: DeviceKind::Cpu,
        reason,
    }));
    report_known_group(page.store);
    settle().await;
    let panel = page.text(".device-panel");
    for text in ["software (SwiftShader)", "the CPU device is used", "1.0e-7", "1.0e-4"] {
        assert!(panel.contains(text), "{text} in {panel}");
    }
    assert!(page.text(".device-badge").contains("CPU"));
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
async fn a_lane_can_be_taken_out_of_the_chart() {
    let page = mount(Lab::default());
    settle().await;
    let first: HtmlInputElement = page.all(".legend input")[0].clone().unchecked_into();
    assert!(first.checked());
    first.click();
    settle().await;
    assert!(!first.checked());
    assert_eq!(page.store.peek(|lab| lab.blueprint.hidden_lanes.clone()), [0]);
}
