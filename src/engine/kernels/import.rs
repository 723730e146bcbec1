//! What WGSL itself has not: a line `#import shared/NAME` stands for the text of `shaders/shared/NAME.wgsl`, and a line `#each N TEXT` for the
//! text N times, with `$` as 0, 1, 2 and so on, since registers have names and no numbers. `#each size TEXT` leaves N to the host.
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
    ("shared/filled", shared!("filled")),
    ("shared/head", shared!("head")),
    ("shared/jobs", shared!("jobs")),
    ("shared/moments", shared!("moments")),
    ("shared/program", shared!("program")),
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

/// `source` with every repeated line written out. A count that is none stays as it is, which no WGSL compiler takes.
pub(crate) fn repeated(source: &str, size: usize) -> String {
    let mut text = String::new();
    for line in source.lines() {
        let parts = line
            .trim_start()
            .strip_prefix("#each ")
            .and_then(|rest| rest.split_once(' '));
        let count = parts.map(|(count, _)| if count == "size" { Ok(size) } else { count.parse() });
        match (parts, count) {
            (Some((_, part)), Some(Ok(count))) => {
                (0..count).for_each(|i| text.extend([&part.replace('$', &i.to_string()), "\n"]));
            }
            _ => text.extend([line, "\n"]),
        }
    }
    text
}
