//! Fewer points that draw the same line.

use super::{Curve, Span};

/// A place on the line; NaN as `y` is a gap.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Point {
    pub x: f64,
    pub y: f64,
}

/// The part of `curve` inside `span`, at most two points a column and one on either side: of each column its lowest and its highest
/// point, in their order, so that no peak is lost. Few points are kept as they are.
pub fn outline(curve: &Curve, span: Span, columns: usize) -> Vec<Point> {
    let inside = curve.between(span.low(), span.high());
    // One neighbour on either side, so that the line reaches the edges.
    let (start, end) = (inside.start.saturating_sub(1), (inside.end + 1).min(curve.len()));
    let at = |i: usize| Point {
        x: curve.xs()[i],
        y: curve.ys()[i],
    };
    if inside.len() <= columns * 2 {
        return (start..end).map(at).collect();
    }
    let mut points = Vec::with_capacity(columns * 2 + 2);
    points.extend((start..inside.start).map(at));
    let width = span.length() / columns as f64;
    let mut from = inside.start;
    for column in 1..=columns {
        let edge = span.low() + width * column as f64;
        let rest = &curve.xs()[from..inside.end];
        let to = if column == columns {
            inside.end
        } else {
            from + rest.partition_point(|x| *x < edge)
        };
        if from == to {
            continue;
        }
        match curve.extremes(from..to) {
            Some(found) => {
                let (first, second) = (found.low_at.min(found.high_at), found.low_at.max(found.high_at));
                points.push(at(first));
                points.extend((second > first).then(|| at(second)));
            }
            // A column of gaps only is a gap.
            None => points.push(at(from)),
        }
        from = to;
    }
    points.extend((inside.end..end).map(at));
    points
}
