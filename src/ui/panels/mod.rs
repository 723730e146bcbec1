//! What is read: lanes, chart, grid, arithmetic, device, journal, shaders.

pub mod arithmetic;
pub mod ask;
pub mod cards;
pub mod chart;
pub mod communication;
pub mod compare;
pub mod device;
pub mod exchange_words;
pub mod fit;
pub mod fold;
pub mod grid;
pub mod group_view;
pub mod journal;
pub mod lane_table;
pub mod loss_words;
pub mod memory;
pub mod past;
pub mod preflight;
pub mod probe;
pub mod records;
pub mod scaler;
pub mod shader_source;
pub mod shader_table;
pub mod shaders;
pub mod share;
