//! What a person reads.

use microbatch_lab::{
    lab::{Lab, Msg, msg::Effect},
    protocol::{ChoiceReason, Chosen, DeviceKind, Fault},
};
use wasm_bindgen::JsCast as _;
use wasm_bindgen_test::wasm_bindgen_test;
use web_sys::HtmlInputElement;

use crate::harness::{mount, report_known_group, settle};

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
    for text in ["aaaa0000\nstood still", "bbbb0000\nchanged by the update", "2048"] {
        assert!(table.contains(text), "{text} in {table}");
    }
    // One token of the short microbatch weighs 2048 / (2 x 512) = 2 under the mean of means, of the long one 2/3.
    let weights = page.text(".sums");
    assert!(weights.contains("×2.000") && weights.contains("×0.667"), "{weights}");
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
        cells[0].contains("done") && cells[0].contains("512 supervised"),
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
async fn a_fault_is_told_and_the_record_stays() {
    let page = mount(Lab::default());
    settle().await;
    page.button("512 tokens at 2, 1,536 at 4").click();
    settle().await;
    report_known_group(page.store);
    let fault = Fault::Panicked {
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
