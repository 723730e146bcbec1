//! A page in a section of its own, and a worker's report for it.

use std::{cell::RefCell, rc::Rc};

use leptos::prelude::*;
use microbatch_lab::{
    batch::{Counters, ExampleId, GroupLoss, GroupPlan, MicrobatchFacts, MicrobatchPlan},
    lab::{Lab, Msg, msg::Effect},
    protocol::{
        Command, DeviceReport, Event, GroupRow, LaneRow, Outcome, ReplicaSpread, RunFacts, RunId, SelfCheck, VERSION,
    },
    ui::{
        Page, Store,
        later::{coming::Coming, later},
    },
};
use wasm_bindgen::JsCast as _;
use web_sys::{Element, HtmlElement, HtmlInputElement};

/// A page in a section of its own, with a record of what it asked of the outside.
pub(crate) struct Mounted {
    pub(crate) root: HtmlElement,
    pub(crate) store: Store,
    pub(crate) effects: Rc<RefCell<Vec<Effect>>>,
}

pub(crate) fn mount(lab: Lab) -> Mounted {
    mount_with(lab, || Coming::at_once(later()))
}

/// The same where the later parts of the page come like this.
pub(crate) fn mount_with(lab: Lab, coming: impl FnOnce() -> Coming + 'static) -> Mounted {
    let root: HtmlElement = document().create_element("section").unwrap().unchecked_into();
    document().body().unwrap().append_child(&root).unwrap();
    let effects: Rc<RefCell<Vec<Effect>>> = Rc::default();
    let record = Rc::clone(&effects);
    let slot = Rc::new(RefCell::new(None));
    let out = Rc::clone(&slot);
    let handle = leptos::mount::mount_to(root.clone(), move || {
        let store = Store::new(lab, move |_, more| record.borrow_mut().extend(more));
        *out.borrow_mut() = Some(store);
        view! { <Page store=store coming=coming() /> }
    });
    handle.forget();
    let store = slot.borrow().unwrap();
    Mounted { root, store, effects }
}

impl Mounted {
    pub(crate) fn all(&self, selector: &str) -> Vec<Element> {
        let list = self.root.query_selector_all(selector).unwrap();
        (0..list.length())
            .filter_map(|at| list.get(at))
            .map(wasm_bindgen::JsCast::unchecked_into)
            .collect()
    }

    pub(crate) fn one(&self, selector: &str) -> Element {
        self.root
            .query_selector(selector)
            .unwrap()
            .unwrap_or_else(|| panic!("no {selector}"))
    }

    pub(crate) fn text(&self, selector: &str) -> String {
        self.one(selector).text_content().unwrap()
    }

    pub(crate) fn button(&self, name: &str) -> HtmlElement {
        let buttons = self.all("button");
        let found = buttons
            .iter()
            .find(|button| button.text_content().unwrap().trim() == name);
        found
            .unwrap_or_else(|| panic!("no button {name}"))
            .clone()
            .unchecked_into()
    }

    pub(crate) fn labelled(&self, start: &str) -> HtmlInputElement {
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

    pub(crate) async fn type_into(&self, start: &str, text: &str) {
        let input = self.labelled(start);
        input.set_value(text);
        input.dispatch_event(&web_sys::Event::new("input").unwrap()).unwrap();
        settle().await;
    }
}

pub(crate) async fn settle() {
    leptos::task::tick().await;
    leptos::task::tick().await;
}

/// Waits for what a timer does.
pub(crate) async fn rest(ms: i32) {
    let promise = js_sys::Promise::new(&mut |done, _| {
        web_sys::window()
            .unwrap()
            .set_timeout_with_callback_and_timeout_and_arguments_0(&done, ms)
            .unwrap();
    });
    wasm_bindgen_futures::JsFuture::from(promise).await.unwrap();
}

/// The first group of the preset "512 tokens at 2, 1,536 at 4", as a worker would report it.
pub(crate) fn known_group() -> GroupRow {
    let microbatch = |id: u32, supervised: u64, index: u32| MicrobatchPlan {
        ids: vec![ExampleId(id)],
        facts: MicrobatchFacts {
            replica: 0,
            index,
            examples: 1,
            scored_examples: 1,
            supervised,
            positions: supervised,
            unpadded: supervised,
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
        inner: Vec::new(),
        outcome: Outcome::Applied,
        loss_sums: sums.to_vec(),
        loss: GroupLoss::from_sums([(sums[0], 512), (sums[1], 1536)]),
        logged_loss: 3.5,
        gradient_norm: 1.25,
        clip_norms: Vec::new(),
        scale: None,
        batch_norm: None,
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
            all_reduces: 0,
            all_reduced_bytes: 0,
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
        memory: None,
    }
}

/// A device is usable, the experiment loaded, and its first group has ended.
pub(crate) fn report_known_group(store: Store) {
    let run = RunId(1);
    let facts = RunFacts {
        parameters: 100,
        vocabulary: 3,
        examples: 2,
        groups_per_epoch: 1,
        dropped_per_epoch: 0,
        dropped: Vec::new(),
        repeated_per_epoch: 0,
        memory: None,
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

/// A key pressed on the page, or on `target`.
pub(crate) fn press(target: &Element, code: &str) {
    let send = js_sys::Function::new_with_args(
        "target, code",
        "target.dispatchEvent(new KeyboardEvent('keydown', { code, bubbles: true, cancelable: true }))",
    );
    send.call2(&wasm_bindgen::JsValue::NULL, target, &code.into()).unwrap();
}

pub(crate) fn loads(page: &Mounted) -> usize {
    let effects = page.effects.borrow();
    let is_load = |effect: &&Effect| matches!(effect, Effect::Send(Command::Load { .. }));
    effects.iter().filter(is_load).count()
}
