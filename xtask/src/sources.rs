//! The folder of shaders that the page shows gets a hash of its content in its name: a browser that keeps a file then never shows a text of
//! another build.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

use crate::finish::{read, write};

/// What the folder is called before, in trunk's output and in the document.
const NAME: &str = "shaders";

/// Renames the folder in `staging`, and has the document say so.
pub fn hash_folder(staging: &Path) -> Result<(), String> {
    let folder = staging.join(NAME);
    let mut hasher = DefaultHasher::new();
    for file in files(&folder)? {
        // By its place inside the folder: where trunk works is of no matter.
        file.strip_prefix(&folder).ok().hash(&mut hasher);
        read(&file)?.hash(&mut hasher);
    }
    let hashed = format!("{NAME}-{:016x}", hasher.finish());
    let document = staging.join("index.html");
    let text = String::from_utf8(read(&document)?).map_err(|e| format!("{}: {e}", document.display()))?;
    let (from, to) = (format!("content=\"{NAME}\""), format!("content=\"{hashed}\""));
    if !text.contains(&from) {
        return Err(format!("index.html does not say where {NAME} are"));
    }
    write(&document, text.replace(&from, &to).as_bytes())?;
    fs::rename(&folder, staging.join(hashed)).map_err(|e| format!("cannot rename {}: {e}", folder.display()))
}

/// All files below `folder`, in order.
fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("cannot read {}: {e}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::hash_folder;

    const DOCUMENT: &str = "<meta name=\"shaders\" content=\"shaders\">";

    /// What the document says after `content` was in the folder.
    fn named(home: &Path, content: &str) -> String {
        let staging = home.join(content);
        fs::create_dir_all(staging.join("shaders/shared")).unwrap();
        fs::write(staging.join("shaders/shared/erf.wgsl"), content).unwrap();
        fs::write(staging.join("index.html"), DOCUMENT).unwrap();
        hash_folder(&staging).unwrap();
        let document = fs::read_to_string(staging.join("index.html")).unwrap();
        let folder = document.split('"').nth(3).unwrap().to_owned();
        assert_eq!(
            fs::read_to_string(staging.join(&folder).join("shared/erf.wgsl")).unwrap(),
            content
        );
        assert!(!staging.join("shaders").exists());
        folder
    }

    #[test]
    fn the_name_follows_the_content() {
        let home = std::env::temp_dir().join(format!("microbatch-lab-sources-{}", std::process::id()));
        let (one, other) = (named(&home.join("a"), "one"), named(&home, "other"));
        assert!(one.starts_with("shaders-") && one.len() == "shaders-".len() + 16);
        assert_eq!(one, named(&home.join("b"), "one"));
        assert_ne!(one, other);
        fs::write(home.join("index.html"), "<p>").unwrap();
        fs::create_dir_all(home.join("shaders")).unwrap();
        assert!(hash_folder(&home).is_err(), "a document that names no folder");
        fs::remove_dir_all(&home).unwrap();
    }
}
