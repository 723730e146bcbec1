//! One experiment as data: [`Setup`], the form a person fills in ([`Draft`]), its limits, presets, differences and written forms.
//!
//! One flat table of keys ([`Key`]) serves the page's fields, the link, and the TOML and JSON files, so all of them are read by
//! one parser and a message about a bad value always names the same key.

pub mod codec;
pub mod diff;
pub mod draft;
pub mod file;
pub mod key;
pub mod kinds;
pub mod limits;
pub mod link;
mod lists;
pub mod matters;
pub mod named;
pub mod needs;
mod number;
pub mod parse;
pub mod presets;
pub mod problem;
pub mod types;

pub use draft::Draft;
pub use key::Key;
pub use lists::{lane_name, named_lanes};
pub use named::Named;
pub use number::count;
pub use presets::{PRESETS, Preset, PresetKind};
pub use problem::{FieldError, Problem};
pub use types::{
    Budget, Data, Dropout, DropoutOrder, Injection, Lengths, Model, Optimizer, OwnFormat, Precision, Setup, Start, Task,
};
