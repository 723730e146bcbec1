//! Small pieces that every panel is made of: native elements with a label and, where needed, a message.

pub mod alert;
pub mod each_lane;
pub mod facts;
pub mod field;
pub mod lane_mark;
pub mod section;
pub mod try_again;
