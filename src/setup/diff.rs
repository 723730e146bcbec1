//! What differs between two experiments: the title of a run.

use super::{Draft, Key, Setup, matters::matters};

/// One field that differs. A side on which the field has no effect has no text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Change {
    /// The field.
    pub key: Key,
    /// Its text before.
    pub before: Option<String>,
    /// Its text after.
    pub after: Option<String>,
}

/// The fields in which `after` differs from `before`, in the table's order. Fields without effect on either side are left out.
///
/// ```
/// use microbatch_lab::setup::{Draft, Key, diff::drafts};
/// let changes = drafts(&Draft::default(), &Draft::default().with(Key::Accumulation, "8"));
/// assert_eq!(changes.len(), 1);
/// assert_eq!((changes[0].before.as_deref(), changes[0].after.as_deref()), (Some("4"), Some("8")));
/// ```
pub fn drafts(before: &Draft, after: &Draft) -> Vec<Change> {
    let text = |draft: &Draft, key| matters(draft, key).then(|| meant(draft, key).to_owned());
    let change = |&key: &Key| Change {
        key,
        before: text(before, key),
        after: text(after, key),
    };
    Key::ALL
        .iter()
        .map(change)
        .filter(|change| change.before != change.after)
        .collect()
}

/// The fields in which two parsed experiments differ.
pub fn setups(before: &Setup, after: &Setup) -> Vec<Change> {
    drafts(&Draft::from(before), &Draft::from(after))
}

/// Space around a value is layout, but a space that opens `start` may be the letter whose loss is known.
fn meant(draft: &Draft, key: Key) -> &str {
    let text = draft.get(key).trim_end();
    if key == Key::Start { text } else { text.trim_start() }
}
