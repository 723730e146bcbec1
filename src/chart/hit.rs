//! What stands under the pointer.

use super::Curve;

/// A recorded point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Its place in the curve.
    pub at: usize,
    /// Its horizontal coordinate.
    pub x: f64,
    /// Its value; NaN for a gap.
    pub y: f64,
}

/// The point nearest to `x`; of two equally near ones the left one, of several at the same place the last. `None` without points.
pub fn nearest(curve: &Curve, x: f64) -> Option<Hit> {
    let xs = curve.xs();
    let right = xs.partition_point(|other| *other <= x);
    // Right of `x`, several may share a place: the last of them is what the run was like when it moved on.
    let right_at = xs.get(right).map(|next| xs.partition_point(|other| other <= next) - 1);
    let left_at = right.checked_sub(1);
    let at = match (left_at, right_at) {
        (Some(left), Some(right)) if xs[right] - x < x - xs[left] => right,
        (Some(left), _) => left,
        (None, Some(right)) => right,
        (None, None) => return None,
    };
    Some(Hit {
        at,
        x: xs[at],
        y: curve.ys()[at],
    })
}

/// What all lanes were at the recorded place nearest to `x`.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The recorded horizontal coordinate that is nearest among all lanes.
    pub x: f64,
    /// The point of each lane nearest to it; `None` for lanes that are hidden or empty.
    pub lanes: Vec<Option<Hit>>,
}

/// Reads every visible lane at one place; `None` where no visible lane has a point.
pub fn read(curves: &[Curve], visible: &[bool], x: f64) -> Option<Reading> {
    let shown = |at: usize| visible.get(at).copied().unwrap_or(false);
    let at = |x: f64| -> Vec<Option<Hit>> {
        (0..)
            .zip(curves)
            .map(|(lane, curve)| if shown(lane) { nearest(curve, x) } else { None })
            .collect()
    };
    let hits = at(x);
    let nearest = hits
        .iter()
        .flatten()
        .min_by(|a, b| (a.x - x).abs().total_cmp(&(b.x - x).abs()))?;
    Some(Reading {
        x: nearest.x,
        lanes: at(nearest.x),
    })
}
