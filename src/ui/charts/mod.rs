//! Line charts over SVG: everything about numbers and pixels comes from [`crate::chart`], every word from the page.

mod canvas;
mod gestures;
pub mod line_chart;
mod readout;
mod size;
mod state;
mod table;

pub use line_chart::LineChart;
pub use state::{ChartLane, ChartWords, Feed, Version};
