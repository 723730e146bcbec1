//! What the page says of shaders: every file is told of once, and what it is held against is there.

use std::collections::BTreeSet;

use crate::source::{File, Is};

/// Shaders that the table of the page leaves out, names twice, or makes up.
pub(crate) fn told_otherwise(shaders: &[File], table: &File) -> Vec<String> {
    let mut found = Vec::new();
    let mut told = BTreeSet::new();
    for name in texts(table).filter(|text| matches!(text.rsplit_once('.'), Some((_, "wgsl")))) {
        let path = format!("shaders/{name}");
        if !shaders.iter().any(|shader| shader.path == path) {
            found.push(format!("{}: there is no {path}", table.path));
        }
        if !told.insert(path) {
            found.push(format!("{}: {name} is told of twice", table.path));
        }
    }
    let left_out = shaders.iter().filter(|shader| !told.contains(&shader.path));
    found.extend(left_out.map(|shader| format!("{}: {} is not told of", table.path, shader.path)));
    found
}

/// Functions that the table says shaders are held against, and that no source has.
pub(crate) fn held_against_nothing(table: &File, sources: &[File]) -> Vec<String> {
    let paths: BTreeSet<String> = texts(table).filter(|text| text.contains("::")).collect();
    let missing = paths.into_iter().filter(|path| {
        let (module, name) = path.rsplit_once("::").unwrap_or_default();
        !sources
            .iter()
            .any(|file| module.starts_with(&module_of(file)) && file.text.contains(&format!("fn {name}(")))
    });
    missing
        .map(|path| format!("{}: there is no function {path}", table.path))
        .collect()
}

/// `src/engine/loss.rs` as `engine::loss`.
fn module_of(file: &File) -> String {
    file.path
        .trim_start_matches("src/")
        .trim_end_matches(".rs")
        .replace('/', "::")
}

fn texts(file: &File) -> impl Iterator<Item = String> {
    file.words().into_iter().filter_map(|word| match word.is {
        Is::Text(text) => Some(text.trim_matches('"').to_owned()),
        _ => None,
    })
}

#[test]
fn a_shader_that_is_told_of_wrongly_is_seen() {
    let shaders = [
        File::sample("shaders/a.wgsl", ""),
        File::sample("shaders/shared/b.wgsl", ""),
    ];
    let otherwise = |text: &str| told_otherwise(&shaders, &File::sample("src/ui/table.rs", text)).len();
    assert_eq!(otherwise("const A: [&str; 2] = [\"a.wgsl\", \"shared/b.wgsl\"];"), 0);
    assert_eq!(
        otherwise("const A: [&str; 1] = [\"a.wgsl\"]; // shared/b.wgsl"),
        1,
        "left out"
    );
    assert_eq!(
        otherwise("const A: [&str; 3] = [\"a.wgsl\", \"shared/b.wgsl\", \"a.wgsl\"];"),
        1,
        "twice"
    );
    assert_eq!(
        otherwise("const A: [&str; 2] = [\"a.wgsl\", \"b.wgsl\"];"),
        2,
        "made up, and left out"
    );
}

#[test]
fn a_twin_that_is_gone_is_seen() {
    let table = File::sample("src/ui/table.rs", "const A: &str = \"engine::layers::twin::gelu\";");
    let gone = |path: &str, text: &str| held_against_nothing(&table, &[File::sample(path, text)]).len();
    assert_eq!(gone("src/engine/layers.rs", "mod twin { fn gelu(x: f32) {} }"), 0);
    assert_eq!(gone("src/engine/layers.rs", "fn gelu_slope(x: f32) {}"), 1);
    assert_eq!(gone("src/lab/layers.rs", "fn gelu(x: f32) {}"), 1);
}
