//! The page shows each shader's source as it lies in the repository.

use std::{fs, path::Path, time::Duration};

use e2e::{Trouble, ensure, story};

const SOON: Duration = Duration::from_secs(15);

#[test]
fn each_shader_can_be_read_beside_what_it_does() {
    story("9-shaders", async |page| {
        page.open("").await?;
        page.until("the fold", SOON, "return !!document.querySelector('#shaders-title')")
            .await?;
        page.ask("document.querySelector('details:has(> summary #shaders-title) > summary').click(); return null")
            .await?;
        let root = xtask::root().join("shaders");
        let files = files(&root)?;
        page.until("the list", SOON, "return !!document.querySelector('.shaders')")
            .await?;
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

fn files(folder: &Path) -> Result<Vec<std::path::PathBuf>, Trouble> {
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
