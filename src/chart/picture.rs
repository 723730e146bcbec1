//! One look at some curves, ready to be drawn.

use super::{Curve, Kind, Point, Scale, Span, number, outline, path::path, ticks};

/// The pixels of a chart: its size, and what is left of it inside the axes' labels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Width of the whole chart.
    pub width: f64,
    /// Height of the whole chart.
    pub height: f64,
}

impl Frame {
    const LEFT: f64 = 56.0;
    /// Room for the marks at the ends of the lines.
    const RIGHT: f64 = 28.0;
    const TOP: f64 = 10.0;
    const BOTTOM: f64 = 26.0;
    /// A smaller plot cannot be read, and a chart that is not laid out yet has no size at all.
    const LEAST: f64 = 40.0;

    /// Left and right edge of the plot.
    pub fn horizontal(self) -> (f64, f64) {
        (Self::LEFT, (self.width - Self::RIGHT).max(Self::LEFT + Self::LEAST))
    }

    /// Lower and upper edge of the plot: pixels grow downwards.
    pub fn vertical(self) -> (f64, f64) {
        ((self.height - Self::BOTTOM).max(Self::TOP + Self::LEAST), Self::TOP)
    }
}

/// What to look at.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The curves, lane by lane.
    pub curves: &'a [Curve],
    /// Whether each is drawn; a missing entry is no.
    pub visible: &'a [bool],
    /// The pixels.
    pub frame: Frame,
    /// The part of the horizontal axis; `None` for all of it.
    pub window: Option<Span>,
    /// How values are spread.
    pub kind: Kind,
}

/// A labelled place on an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Where, in pixels.
    pub pixel: f64,
    /// What it says.
    pub label: String,
}

/// The last point of a curve that can be seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// From the left, in pixels.
    pub x: f64,
    /// From the top, in pixels.
    pub y: f64,
}

/// Everything there is to draw.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Horizontal axis.
    pub x: Scale,
    /// Vertical axis.
    pub y: Scale,
    /// All of the horizontal axis.
    pub full: Span,
    /// Labels along the horizontal axis.
    pub x_ticks: Vec<Tick>,
    /// Labels along the vertical axis.
    pub y_ticks: Vec<Tick>,
    /// One path a curve, empty for hidden ones.
    pub paths: Vec<String>,
    /// One mark a curve, `None` for hidden and empty ones.
    pub ends: Vec<Option<Mark>>,
}

/// Draws `request`, in time that depends on the pixels and not on the number of points.
pub fn picture(request: &Request<'_>) -> Picture {
    let (left, right) = request.frame.horizontal();
    let (bottom, top) = request.frame.vertical();
    let full = full(request.curves);
    let window = request.window.unwrap_or(full);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "pixels of a screen"
    )]
    let columns = (right - left).ceil() as usize;
    let shown = |at: usize| request.visible.get(at).copied().unwrap_or(false);
    let outlines: Vec<Vec<Point>> = (0..)
        .zip(request.curves)
        .map(|(at, curve)| {
            if shown(at) {
                outline(curve, window, columns)
            } else {
                Vec::new()
            }
        })
        .collect();
    let x = Scale::new(Kind::Linear, window, (left, right));
    let y = Scale::new(request.kind, values(&outlines, window, request.kind), (bottom, top));
    Picture {
        x,
        y,
        full,
        x_ticks: labelled(x, wanted(right - left, 64.0), 1.0),
        y_ticks: labelled(y, wanted(bottom - top, 32.0), 0.0),
        paths: outlines.iter().map(|points| path(points, x, y)).collect(),
        ends: outlines.iter().map(|points| end(points, x, y)).collect(),
    }
}

/// From the first to the last horizontal coordinate of all curves. All curves, so that hiding one does not move the others.
fn full(curves: &[Curve]) -> Span {
    let first = curves
        .iter()
        .filter_map(|curve| curve.xs().first())
        .fold(f64::NAN, |a, b| a.min(*b));
    let last = curves
        .iter()
        .filter_map(|curve| curve.xs().last())
        .fold(f64::NAN, |a, b| a.max(*b));
    Span::around(first, last)
}

fn values(outlines: &[Vec<Point>], window: Span, kind: Kind) -> Span {
    let usable =
        |point: &&Point| !point.y.is_nan() && window.contains(point.x) && (kind == Kind::Linear || point.y > 0.0);
    let points = outlines.iter().flatten().filter(usable);
    let (low, high) = points.fold((f64::NAN, f64::NAN), |(low, high), point| {
        (low.min(point.y), high.max(point.y))
    });
    let span = Span::around(low, high);
    match kind {
        Kind::Linear => span.padded(0.04),
        // Room by a ratio, as the scale is one.
        Kind::Log => Span::between(span.low() * 0.95, span.high() / 0.95).unwrap_or(span),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "pixels of a screen"
)]
fn wanted(pixels: f64, apart: f64) -> usize {
    (pixels / apart).floor().max(2.0) as usize
}

fn labelled(scale: Scale, wanted: usize, least: f64) -> Vec<Tick> {
    let step = ticks::step(scale.domain(), wanted, least);
    let linear = scale.kind() == Kind::Linear;
    ticks::ticks(scale.kind(), scale.domain(), wanted, least)
        .into_iter()
        .filter_map(|tick| {
            let label = if linear {
                number::tick(tick, step)
            } else {
                number::value(tick)
            };
            scale.pixel(tick).map(|pixel| Tick { pixel, label })
        })
        .collect()
}

fn end(points: &[Point], x: Scale, y: Scale) -> Option<Mark> {
    let place = |point: &Point| {
        Some(Mark {
            x: x.pixel(point.x)?,
            y: y.pixel(point.y)?,
        })
    };
    points
        .iter()
        .rev()
        .filter(|point| x.domain().contains(point.x))
        .find_map(place)
}
