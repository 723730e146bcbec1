//! Whether dist/ was built from what lies in the work tree now.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

use crate::{dist, root, shell};

/// Everything that a build of the site reads.
const INPUTS: &[&str] = &[
    "src",
    "web",
    "shaders",
    "kernels/src",
    "kernels/Cargo.toml",
    "xtask/src",
    "build.rs",
    "Cargo.toml",
    "Cargo.lock",
    "Trunk.toml",
    ".cargo/config.toml",
];

/// Lies in dist/, so that a build by hand, which empties dist/, makes it go.
const NAME: &str = ".built-from";

/// Whether the last build was made from the same inputs by the same compiler.
pub fn is_fresh() -> bool {
    fs::read_to_string(dist().join(NAME)).is_ok_and(|stamp| stamp == fingerprint())
}

/// Remembers what dist/ was built from.
pub fn write(fingerprint: &str) -> Result<(), String> {
    let path = dist().join(NAME);
    fs::write(&path, fingerprint).map_err(|e| format!("cannot write {}: {e}", path.display()))
}

/// A hash of the inputs' names and contents, and of the compiler.
pub fn fingerprint() -> String {
    let mut hasher = DefaultHasher::new();
    shell::first_line("rustc", &["--version"]).hash(&mut hasher);
    for input in INPUTS {
        hash_tree(&root().join(input), &mut hasher);
    }
    format!("{:016x}", hasher.finish())
}

fn hash_tree(path: &Path, hasher: &mut DefaultHasher) {
    path.hash(hasher);
    if path.is_dir() {
        let mut entries: Vec<PathBuf> = fs::read_dir(path)
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        entries.sort();
        for entry in entries {
            hash_tree(&entry, hasher);
        }
    } else {
        fs::read(path).ok().hash(hasher);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        hash::{DefaultHasher, Hasher},
    };

    use super::{INPUTS, hash_tree};

    #[test]
    fn a_changed_or_a_new_file_changes_the_hash() {
        let folder = std::env::temp_dir().join(format!("microbatch-lab-stamp-{}", std::process::id()));
        fs::create_dir_all(folder.join("deep")).unwrap();
        let hash = || {
            let mut hasher = DefaultHasher::new();
            hash_tree(&folder, &mut hasher);
            hasher.finish()
        };
        let empty = hash();
        fs::write(folder.join("deep/a"), "1").unwrap();
        let one = hash();
        assert_eq!(one, hash());
        fs::write(folder.join("deep/a"), "2").unwrap();
        let two = hash();
        assert!(empty != one && one != two);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn crates_that_are_linked_are_inputs() {
        let manifest = fs::read_to_string(crate::root().join("Cargo.toml")).unwrap();
        let dependencies = manifest.lines().filter(|line| line.contains("{ path = \""));
        let folders: Vec<&str> = dependencies.filter_map(|line| line.split('"').nth(1)).collect();
        assert!(!folders.is_empty());
        for folder in folders {
            let source = format!("{folder}/src");
            assert!(INPUTS.contains(&source.as_str()), "{source}");
        }
    }

    #[test]
    fn inputs_exist() {
        // A misspelt input would let a stale site pass for a fresh one.
        for input in INPUTS {
            assert!(
                crate::root().join(input).exists(),
                "{input} is named as an input of the build but is not there"
            );
        }
    }
}
