//! What is read: lanes, chart, grid, arithmetic, device, journal.

pub mod arithmetic;
pub mod cards;
pub mod chart;
pub mod compare;
pub mod device;
pub mod grid;
pub mod group_view;
pub mod journal;
pub mod loss_words;
pub mod past;
pub mod share;
