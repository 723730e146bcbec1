//! The page as a person sees it.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use thirtyfour::prelude::*;

use crate::{
    Name, Trouble,
    find::{self, send},
};

/// One window with Microbatch Lab in it.
#[derive(Debug)]
pub struct Page {
    driver: WebDriver,
    home: String,
}

impl Page {
    pub(crate) fn new(driver: WebDriver, home: String) -> Self {
        Self { driver, home }
    }

    /// The window itself.
    pub fn driver(&self) -> &WebDriver {
        &self.driver
    }

    /// Opens the page with what follows its address, such as `#v=1&m=2`.
    pub async fn open(&self, rest: &str) -> Result<(), Trouble> {
        Ok(self.driver.goto(format!("{}{rest}", self.home)).await?)
    }

    /// The one element of this role and name.
    pub async fn find(&self, role: &str, name: impl Into<Name>) -> Result<WebElement, Trouble> {
        find::one(&self.driver, role, &name.into()).await
    }

    /// Presses the button of this name.
    pub async fn press(&self, name: &str) -> Result<(), Trouble> {
        Ok(self.find("button", name).await?.click().await?)
    }

    /// Replaces what stands in a text field.
    pub async fn fill(&self, name: impl Into<Name>, text: &str) -> Result<(), Trouble> {
        let field = self.find("textbox", name).await?;
        field.click().await?;
        field.send_keys(Key::Control + "a").await?;
        if text.is_empty() {
            field.send_keys(Key::Delete + "").await?;
        }
        Ok(field.send_keys(text).await?)
    }

    /// Chooses in a list, by the words a person sees.
    pub async fn choose(&self, list: &str, option: &str) -> Result<(), Trouble> {
        let list = self.find("combobox", list).await?;
        let options = list.find_all(By::Tag("option")).await?;
        for found in options {
            if found.text().await?.trim() == option {
                return Ok(found.click().await?);
            }
        }
        Err(format!("the list offers no {option:?}").into())
    }

    /// What a script returns.
    pub async fn ask(&self, script: &str) -> Result<Value, Trouble> {
        Ok(self.driver.execute(script, vec![]).await?.json().clone())
    }

    /// Waits until `script` returns true.
    pub async fn until(&self, what: &str, limit: Duration, script: &str) -> Result<Duration, Trouble> {
        let start = Instant::now();
        while self.ask(script).await? != Value::Bool(true) {
            if start.elapsed() > limit {
                return Err(format!("{what}: not within {limit:?}").into());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(start.elapsed())
    }

    /// The page's width and height as a phone has them.
    pub async fn as_phone(&self) -> Result<(), Trouble> {
        self.on_screen(json!({"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": true}))
            .await
    }

    /// The page's width and height on a projector.
    pub async fn as_projector(&self) -> Result<(), Trouble> {
        self.on_screen(json!({"width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": false}))
            .await
    }

    async fn on_screen(&self, screen: serde_json::Value) -> Result<(), Trouble> {
        send(&self.driver, "Emulation.setDeviceMetricsOverride", screen)
            .await
            .map(drop)
    }

    /// As if the system asked for `light` or `dark`.
    pub async fn in_colours(&self, scheme: &str) -> Result<(), Trouble> {
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        send(&self.driver, "Emulation.setEmulatedMedia", media).await.map(drop)
    }

    /// Writes what is in the window to target/e2e/NAME.png.
    pub async fn screenshot(&self, name: &str) -> Result<(), Trouble> {
        // What is drawn part by part is whole again by then.
        tokio::time::sleep(Duration::from_millis(400)).await;
        let file = folder()?.join(format!("{name}.png"));
        Ok(fs::write(file, self.driver.screenshot_as_png().await?)?)
    }

    /// What the browser's console holds, for a story that failed.
    pub async fn console(&self) -> Result<String, Trouble> {
        let text = self.ask("return document.body.innerText.slice(0, 4000)").await?;
        Ok(format!("the page says:\n{}", text.as_str().unwrap_or_default()))
    }

    pub(crate) async fn close(self) -> Result<(), Trouble> {
        Ok(self.driver.quit().await?)
    }
}

fn folder() -> Result<PathBuf, Trouble> {
    let folder = xtask::root().join("target").join("e2e");
    fs::create_dir_all(&folder)?;
    Ok(folder)
}
