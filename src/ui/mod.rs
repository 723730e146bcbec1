//! The page: leptos components over [`crate::lab::Lab`], its effects, and its words in English and Russian.
//!
//! Every panel reads the one state through memos of its own, so that a message re-renders only what it changed; everything a person
//! does becomes one [`crate::lab::Msg`] for [`store::Store::dispatch`]. What is not on the first screens is fetched [`later`].

pub mod app;
mod browser;
pub mod charts;
pub mod controls;
mod effects;
pub mod format;
mod frames;
pub mod later;
pub mod panels;
pub mod parts;
pub mod plurals;
pub mod refusals;
mod remember;
pub mod store;
pub mod text;
pub mod turns;
pub mod words;

pub use app::{App, Page, mount};
pub use store::Store;
