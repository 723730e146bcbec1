//! The experiments on the first screen.
use super::Draft;
/// A named experiment.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its stable name, also the key of its text.
    pub name: &'static str,
    /// Its draft.
    pub draft: fn() -> Draft,
}
/// All presets; the first is what a new visitor sees.
pub const PRESETS: &[Preset] = &[];
