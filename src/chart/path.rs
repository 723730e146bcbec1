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
            text.push(command);
            tenths(&mut text, px);
            text.push(' ');
            tenths(&mut text, py);
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

/// Writes a pixel with one decimal. Through whole numbers: writing floats is most of the time that a look takes.
fn tenths(text: &mut String, pixel: f64) {
    // Far outside any screen, where one pixel more or less is nothing.
    let pixel = pixel.clamp(-1e9, 1e9);
    #[expect(clippy::cast_possible_truncation, reason = "clamped above")]
    let tenths = (pixel * 10.0).round() as i64;
    let sign = if tenths < 0 { "-" } else { "" };
    let tenths = tenths.unsigned_abs();
    // Writing to a String does not fail.
    write!(text, "{sign}{}.{}", tenths / 10, tenths % 10).ok();
}
