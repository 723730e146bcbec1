//! The second half of the page does not come, and then it does; all of it in a folder of the host.

use std::{fs, time::Duration};

use e2e::{Page, Trouble, ensure, site, story_in};

const SOON: Duration = Duration::from_secs(15);

/// Texts of the messages that stand in the place of what did not come.
const MESSAGES: &str = "return [...document.querySelectorAll('.later-failed p')].map(p => p.textContent).join('')";

#[test]
fn what_cannot_be_fetched_says_so_and_comes_when_asked_again() {
    let (host, folder) = site::copied("later").unwrap_or_else(|trouble| panic!("the site cannot be copied: {trouble}"));
    story_in("8-later", &host, async |page| {
        let second = site::entry(&folder, |name| name.ends_with(xtask::halves::LATER))?;
        let kept = fs::read(&second)?;
        // As of a host that answers everything with a page of its own; by the file's name the browser may keep that for ever.
        fs::write(&second, "<!doctype html><title>Another page</title>")?;
        page.open("lab/index.html#v=1&budget=20000").await?;
        page.until(
            "the message",
            SOON,
            "return document.querySelectorAll('.later-failed').length > 1",
        )
        .await?;
        page.press("Run").await?;
        page.until_state("Training", SOON).await?;
        said(page, "reload the page").await?;
        page.find("radio", "Русский").await?.click().await?;
        said(page, "перезагрузите страницу").await?;
        page.find("radio", "English").await?.click().await?;
        page.screenshot("8-later").await?;

        fs::remove_file(&second)?;
        ask_again(page).await?;
        page.until(
            "the end of an attempt",
            SOON,
            "return !document.querySelector('.later-failed button[aria-disabled]')",
        )
        .await?;
        said(page, "reload the page").await?;

        fs::write(&second, kept)?;
        ask_again(page).await?;
        page.until_applied(2, SOON).await?;
        ensure!(page.state().await? == "Training", "the run did not go on");
        page.ask("document.querySelectorAll('.fold details').forEach(fold => { fold.open = true }); return null")
            .await?;
        page.until(
            "all folds hold what they are for",
            SOON,
            "return document.querySelectorAll('.fold-body').length === 7 && !document.querySelector('.later-failed') \
             && [...document.querySelectorAll('.fold-body')].every(body => body.innerText && !body.innerText.includes('Loading'))",
        )
        .await?;
        page.find("button", "Download journal (.jsonl)").await?;
        Ok(())
    });
}

async fn ask_again(page: &Page) -> Result<(), Trouble> {
    let press = "document.querySelector('.later-failed button').click(); return null";
    page.ask(press).await.map(drop)
}

async fn said(page: &Page, part: &str) -> Result<(), Trouble> {
    tokio::time::sleep(Duration::from_millis(200)).await;
    let said = page.ask(MESSAGES).await?;
    ensure!(
        said.as_str().is_some_and(|text| text.contains(part)),
        "no word of what to do: {said}"
    );
    Ok(())
}
