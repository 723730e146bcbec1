//! Line charts as geometry: numbers in, pixels and path texts out. Depends on nothing, knows no page and no language.
//!
//! A [`Curve`] takes points as they come and answers range questions without looking at all of them, so that drawing costs what is
//! on the screen, not what was recorded. [`picture`] puts everything together for one look at the data.

pub mod curve;
pub mod hit;
pub mod number;
pub mod outline;
pub mod path;
pub mod picture;
pub mod scale;
pub mod span;
pub mod spread;
pub mod ticks;

pub use curve::Curve;
pub use hit::{Hit, Reading, nearest, read};
pub use outline::{Point, outline};
pub use picture::{Frame, Mark, Picture, Request, Tick, picture};
pub use scale::{Kind, Scale};
pub use span::Span;
pub use spread::spread;
