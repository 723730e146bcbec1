//! Which lanes a person sets side by side.

use microbatch_lab::{
    batch::FaultId,
    lab::{Lab, Msg},
    setup::{Draft, Key, Named as _},
};
use wasm_bindgen::JsCast as _;
use wasm_bindgen_test::wasm_bindgen_test;
use web_sys::{Event, HtmlButtonElement, HtmlInputElement};

use crate::harness::{Mounted, mount, settle};

async fn with_lanes(lanes: &str) -> Mounted {
    let page = mount(Lab::default());
    settle().await;
    page.store
        .dispatch(Msg::Replace(Draft::default().with(Key::Lanes, lanes)));
    settle().await;
    page
}

fn lanes(page: &Mounted) -> String {
    page.store.peek(|lab| lab.blueprint.draft.get(Key::Lanes).to_owned())
}

/// Opens the list of faults of a lane, as a click on its summary does.
async fn open_loop(page: &Mounted, lane: usize) {
    let details = page.all(".lane-loop").swap_remove(lane);
    details.set_attribute("open", "").unwrap();
    details.dispatch_event(&Event::new("toggle").unwrap()).unwrap();
    settle().await;
}

fn fault(page: &Mounted, lane: usize, id: FaultId) -> HtmlInputElement {
    page.one(&format!("[id='lane-{}-{}']", lane + 1, id.name()))
        .unchecked_into()
}

#[wasm_bindgen_test]
async fn lanes_are_chosen_up_to_four_and_never_none() {
    let page = with_lanes("token_weighted").await;
    let disabled = |selector: &str| page.one(selector).unchecked_into::<HtmlButtonElement>().disabled();
    assert!(disabled(".lane-head button"), "the only lane stays");
    for _ in 0..3 {
        page.button("Add a lane").click();
        settle().await;
    }
    assert_eq!(page.all("article.card").len(), 4);
    assert!(disabled("#lanes-add"));
    page.all(".lane-head button")[1]
        .unchecked_ref::<HtmlButtonElement>()
        .click();
    settle().await;
    assert_eq!(page.all("article.card").len(), 3);
    assert!(!disabled("#lanes-add"));
}

#[wasm_bindgen_test]
async fn a_fault_replaces_another_in_its_place_and_names_the_lane() {
    let page = with_lanes("token_weighted,mean_of_means").await;
    open_loop(&page, 1).await;
    fault(&page, 1, FaultId::NeverSynced).click();
    settle().await;
    fault(&page, 1, FaultId::ZeroGradForgotten).click();
    settle().await;
    assert_eq!(
        lanes(&page),
        "token_weighted,mean_of_means+zero_grad_forgotten+never_synced"
    );
    fault(&page, 1, FaultId::ZeroGradBeforeBackward).click();
    settle().await;
    assert_eq!(
        lanes(&page),
        "token_weighted,mean_of_means+zero_grad_before_backward+never_synced"
    );
    let forgotten = fault(&page, 1, FaultId::ZeroGradForgotten);
    assert!(!forgotten.checked(), "another took its place");
    let title = page.all("article.card h3").swap_remove(1).text_content().unwrap();
    assert_eq!(
        title,
        "Mean of microbatch means + zero_grad before each backward + Never synchronised"
    );
}

#[wasm_bindgen_test]
async fn a_fault_that_needs_more_says_so_and_sets_it() {
    let page = with_lanes("token_weighted").await;
    open_loop(&page, 0).await;
    let id = FaultId::ClipBeforeUnscale;
    assert!(fault(&page, 0, id).disabled());
    let needs = page.one(&format!("[id='lane-1-{}-needs']", id.name()));
    let text = needs.text_content().unwrap();
    assert!(text.contains("a largest gradient norm and a loss scale"), "{text}");
    let set = needs.query_selector("button").unwrap().unwrap();
    set.unchecked_into::<HtmlButtonElement>().click();
    settle().await;
    assert!(!fault(&page, 0, id).disabled());
    assert!(needs.has_attribute("hidden"));
    fault(&page, 0, id).click();
    settle().await;
    assert_eq!(lanes(&page), "token_weighted+clip_before_unscale");
    assert!(page.store.peek(|lab| lab.errors.is_empty()));
    let wrong = page.text(".lane-loop summary");
    assert!(wrong.contains("Clips before unscaling"), "{wrong}");
}

#[wasm_bindgen_test]
async fn a_mask_by_hand_is_offered_only_where_it_may_divide_by_nothing() {
    let page = with_lanes("token_weighted,mean_of_means").await;
    let id = FaultId::HandMaskedMean;
    for lane in 0..2 {
        open_loop(&page, lane).await;
        assert_eq!(fault(&page, lane, id).disabled(), lane == 0);
        let needs = page.one(&format!("[id='lane-{}-{}-needs']", lane + 1, id.name()));
        assert_eq!(needs.has_attribute("hidden"), lane == 1);
        let set = needs.query_selector("button").unwrap().unwrap();
        assert_eq!(set.has_attribute("hidden"), lane == 0, "no setting would do");
    }
}

#[wasm_bindgen_test]
async fn one_pass_has_no_loop_to_go_wrong() {
    let page = with_lanes("full_batch").await;
    open_loop(&page, 0).await;
    assert_eq!(page.all(".lane-loop input").len(), 0);
    assert!(page.text(".lane-loop").contains("no loop over them to go wrong"));
}

#[wasm_bindgen_test]
async fn a_lane_with_two_faults_of_one_place_is_drawn_and_can_be_mended() {
    const TWO: &str = "token_weighted,sum+never_synced+single_backward";
    let page = with_lanes(TWO).await;
    assert_eq!(page.all(".lane").len(), 2);
    assert!(!page.text("#field-lanes-error").is_empty());
    page.button("Add a lane").click();
    settle().await;
    assert_eq!(
        lanes(&page),
        format!("{TWO},full_batch"),
        "nothing is dropped on the way"
    );
    assert_eq!(page.all(".lane").len(), 3);
    open_loop(&page, 1).await;
    assert!(fault(&page, 1, FaultId::NeverSynced).checked());
    fault(&page, 1, FaultId::SingleBackward).click();
    settle().await;
    assert_eq!(lanes(&page), "token_weighted,sum+single_backward,full_batch");
    assert!(page.text("#field-lanes-error").is_empty());
}
