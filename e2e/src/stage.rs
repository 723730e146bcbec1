//! One story: a server, a browser, a page, and all of it gone afterwards, whatever happened.

use std::time::Duration;

use crate::{Page, Trouble, browser::Driver};

/// The longest that a story may take, in seconds.
const LIMIT: u64 = 600;

/// Lets `act` happen on a fresh page that is not opened yet. Fails with its trouble, and leaves a screenshot of the last moment.
///
/// # Panics
/// With the story's name and its trouble, where it has any.
#[expect(clippy::panic, reason = "this is how a test fails")]
pub fn story<F>(name: &str, act: F)
where
    F: AsyncFnOnce(&Page) -> Result<(), Trouble>,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = runtime
        .map_err(Trouble::from)
        .and_then(|runtime| runtime.block_on(stage(name, act)));
    if let Err(trouble) = result {
        panic!("{name}: {trouble}");
    }
}

async fn stage<F>(name: &str, act: F) -> Result<(), Trouble>
where
    F: AsyncFnOnce(&Page) -> Result<(), Trouble>,
{
    let site = xtask::dist();
    if !site.join("index.html").is_file() {
        return Err("the site is not built; run `cargo xtask build` first".into());
    }
    let port = xtask::server::serve_in_background(site)?;
    let driver = Driver::start()?;
    let window = driver.window().await?;
    let page = Page::new(window, format!("http://127.0.0.1:{port}/"));
    let result = match tokio::time::timeout(Duration::from_secs(LIMIT), act(&page)).await {
        Ok(result) => result,
        Err(_) => Err(format!("not over after {LIMIT} s").into()),
    };
    if result.is_err() {
        page.screenshot(&format!("{name}-failed")).await.ok();
        println!("{}", page.console().await.unwrap_or_default());
    }
    page.close().await.ok();
    result
}
