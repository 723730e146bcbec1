//! The geometry of charts: tables for the edges, properties for the rest.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::expect_used, reason = "a helper of a test fails it")]
#![allow(clippy::float_cmp, reason = "exact where the expected value is exact")]

mod any;
mod axes;
mod lines;
mod speed;

use microbatch_lab::chart::{Curve, Frame, Kind, Picture, Request, Span, picture};

fn span(low: f64, high: f64) -> Span {
    Span::between(low, high).expect("a span")
}

fn curve(points: impl IntoIterator<Item = (f64, f64)>) -> Curve {
    let mut curve = Curve::default();
    points.into_iter().for_each(|(x, y)| curve.push(x, y));
    curve
}

fn counted(ys: &[f64]) -> Curve {
    curve(ys.iter().enumerate().map(|(i, y)| (i as f64, *y)))
}

const FRAME: Frame = Frame {
    width: 670.0,
    height: 336.0,
};

fn look(curves: &[Curve], kind: Kind, window: Option<Span>) -> Picture {
    let visible = vec![true; curves.len()];
    picture(&Request {
        curves,
        visible: &visible,
        frame: FRAME,
        window,
        kind,
    })
}
