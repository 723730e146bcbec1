//! The stage itself: a browser starts, finds by role and name, and sees what is served.

use e2e::{Name, ensure, story};

#[test]
fn the_page_has_a_title_and_its_controls() {
    story("harness", async |page| {
        page.open("").await?;
        page.find("heading", "Microbatch Lab").await?;
        page.find("textbox", Name::Begins("m:".to_owned())).await?;
        let isolated = page.ask("return crossOriginIsolated").await?;
        ensure!(isolated.as_bool() == Some(true), "the page is not isolated: {isolated}");
        page.screenshot("harness").await
    });
}
