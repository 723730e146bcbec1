//! What the person sets: the experiment and its run.

pub mod data;
pub mod form;
pub mod header;
pub mod lane_loop;
pub mod lanes;
pub mod lengths;
pub mod numerics;
pub mod presets;
pub mod preview;
pub mod recipe;
pub mod split;
pub mod topology;
pub mod transport;
