//! The page shows each shader's source as it lies in the repository.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use e2e::{Page, Trouble, ensure, site, story, story_in};

const SOON: Duration = Duration::from_secs(15);

#[test]
fn each_shader_can_be_read_beside_what_it_does() {
    story("9-shaders", async |page| {
        page.open("").await?;
        unfold(page).await?;
        let root = xtask::root().join("shaders");
        let files = files(&root)?;
        page.ask(
            "document.querySelectorAll('.shaders > li > details > summary').forEach(summary => summary.click()); return null",
        )
        .await?;
        page.until(
            "every text",
            SOON,
            &format!(
                "return document.querySelectorAll('.shaders .source').length === {}",
                files.len()
            ),
        )
        .await?;
        for path in files {
            let file = path.strip_prefix(&root)?.to_string_lossy().replace('\\', "/");
            let id = format!("shader-{}", file.trim_end_matches(".wgsl").replace('/', "-"));
            let text = page
                .ask(&format!(
                    "return document.getElementById('{id}').querySelector('.source').textContent"
                ))
                .await?;
            ensure!(
                text.as_str() == Some(fs::read_to_string(&path)?.as_str()),
                "{file} reads otherwise: {text}"
            );
        }
        Ok(())
    });
}

#[test]
fn a_text_that_is_not_there_says_so_and_comes_when_asked_again() {
    let (host, folder) =
        site::copied("shaders").unwrap_or_else(|trouble| panic!("the site cannot be copied: {trouble}"));
    story_in("9-shaders-gone", &host, async |page| {
        let there = site::entry(&folder, |name| name.starts_with("shaders-"))?;
        let away = folder.join("away");
        fs::rename(&there, &away)?;
        page.open("lab/index.html").await?;
        unfold(page).await?;
        let entry = "document.querySelector('#shader-program-affine";
        page.ask(&format!("{entry} summary').click(); return null")).await?;
        page.until("the message", SOON, &format!("return !!{entry} .failed')"))
            .await?;
        fs::rename(&away, &there)?;
        page.press("Try again").await?;
        page.until(
            "the text",
            SOON,
            &format!("return !!{entry} .source')?.textContent.includes('#import shared/program')"),
        )
        .await?;
        page.find("region", "program/affine.wgsl").await?;
        page.press("shared/program.wgsl").await?;
        page.until(
            "the file that it imports",
            SOON,
            "return !!document.querySelector('#shader-shared-program .source')?.textContent.includes('arena')",
        )
        .await?;
        Ok(())
    });
}

/// Opens the panel.
async fn unfold(page: &Page) -> Result<(), Trouble> {
    page.until("the fold", SOON, "return !!document.querySelector('#shaders-title')")
        .await?;
    page.ask("document.querySelector('details:has(> summary #shaders-title) > summary').click(); return null")
        .await?;
    page.until("the list", SOON, "return !!document.querySelector('.shaders')")
        .await?;
    Ok(())
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, Trouble> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    Ok(found)
}
