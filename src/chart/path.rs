//! The text of an SVG path.

use std::fmt::Write as _;

use super::{Point, Scale};

/// A line through `points`, broken where one has no place on its scale. A lone point becomes a dot under a round line cap.
pub fn path(points: &[Point], x: Scale, y: Scale) -> String {
    let mut text = String::with_capacity(points.len() * 12);
    let mut drawn = 0_usize;
    for point in points {
        if let (Some(px), Some(py)) = (x.pixel(point.x), y.pixel(point.y)) {
            let command = if drawn == 0 { 'M' } else { 'L' };
            // Writing to a String does not fail.
            write!(text, "{command}{px:.1} {py:.1}").ok();
            drawn += 1;
        } else {
            end_of_stretch(&mut text, drawn);
            drawn = 0;
        }
    }
    end_of_stretch(&mut text, drawn);
    text
}

fn end_of_stretch(text: &mut String, drawn: usize) {
    if drawn == 1 {
        text.push_str("h0");
    }
}
