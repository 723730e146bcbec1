//! What WGSL files share: a line `#import shared/NAME` stands for the text of `shaders/shared/NAME.wgsl`. WGSL itself has no such thing.
//!
//! Declarations may come in any order, so that a shared function may use a buffer of the file that imports it.

/// The text of a file in `shaders/shared/`.
macro_rules! shared {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/shaders/shared/", $name, ".wgsl"))
    };
}

/// The shared files by the name under which they are imported.
pub(crate) const SHARED: &[(&str, &str)] = &[
    ("shared/erf", shared!("erf")),
    ("shared/moments", shared!("moments")),
    ("shared/softmax", shared!("softmax")),
];

/// `source` with every import replaced. A name that is not shared stays as it is, which no WGSL compiler takes.
pub(crate) fn resolved(source: &str) -> String {
    let lines = source.lines().map(|line| match line.strip_prefix("#import ") {
        None => line,
        Some(name) => SHARED
            .iter()
            .find(|(shared, _)| *shared == name)
            .map_or(line, |(_, text)| text.trim_end()),
    });
    lines.flat_map(|line| [line, "\n"]).collect()
}
