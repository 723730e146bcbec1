//! One story: a server, a browser, a page, and all of it gone afterwards, whatever happened.

use std::{path::Path, time::Duration};

use crate::{Page, Trouble, browser::Driver};

/// The longest that a story may take, in seconds.
const LIMIT: u64 = 600;

/// Lets `act` happen on a fresh page that is not opened yet. Fails with its trouble, and leaves a screenshot of the last moment.
///
/// # Panics
/// With the story's name and its trouble, where it has any.
pub fn story<F>(name: &str, act: F)
where
    F: AsyncFnOnce(&Page) -> Result<(), Trouble>,
{
    story_in(name, &xtask::dist(), act);
}

/// The same on another folder than the built site's.
///
/// # Panics
/// As [`story`].
#[expect(clippy::panic, reason = "this is how a test fails")]
pub fn story_in<F>(name: &str, site: &Path, act: F)
where
    F: AsyncFnOnce(&Page) -> Result<(), Trouble>,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = runtime
        .map_err(Trouble::from)
        .and_then(|runtime| runtime.block_on(stage(name, site, act)));
    if let Err(trouble) = result {
        panic!("{name}: {trouble}");
    }
}

async fn stage<F>(name: &str, site: &Path, act: F) -> Result<(), Trouble>
where
    F: AsyncFnOnce(&Page) -> Result<(), Trouble>,
{
    if !site.join("index.html").is_file() {
        return Err(format!(
            "{} is not built; run `cargo xtask build`, or `cargo xtask bench --build` for the bench page",
            site.display()
        )
        .into());
    }
    let port = xtask::server::serve_in_background(site.to_path_buf())?;
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
