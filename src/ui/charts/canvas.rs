//! The drawn part of a chart.

use leptos::prelude::*;

use super::state::{ChartLane, ChartState};
use crate::chart::{Picture, spread};

/// Radius of the mark at a line's end, and of the dot where the person reads, in pixels.
const MARK: f64 = 8.0;
const DOT: f64 = 4.0;

/// Axes, lines, marks, and where the person is reading.
pub(super) fn canvas(state: ChartState, lanes: Signal<Vec<ChartLane>>, clip: String) -> impl IntoView {
    let clip_path = format!("url(#{clip})");
    let count = Memo::new(move |_| lanes.with(Vec::len));
    view! {
        <svg class="chart-svg" aria-hidden="true" focusable="false">
            <defs>
                <clipPath id=clip>
                    <rect
                        x=move || left(state) - 2.0
                        y=move || top(state) - 2.0
                        width=move || right(state) - left(state) + 4.0
                        height=move || bottom(state) - top(state) + 4.0
                    />
                </clipPath>
            </defs>
            <g class="chart-grid">{move || grid(state)}</g>
            <g class="chart-labels">{move || labels(state)}</g>
            <g clip-path=clip_path>
                {move || {
                    (0..count.get())
                        .map(|lane| {
                            let path = move || {
                                state.picture.with(|picture| picture.paths.get(lane).cloned().unwrap_or_default())
                            };
                            view! { <path class="chart-line" data-lane=lane + 1 d=path /> }
                        })
                        .collect_view()
                }}
            </g>
            {move || brush(state)}
            {move || cursor(state)}
            {move || state.picture.with(marks)}
        </svg>
    }
}

fn left(state: ChartState) -> f64 {
    state.frame.get().horizontal().0
}

fn right(state: ChartState) -> f64 {
    state.frame.get().horizontal().1
}

fn top(state: ChartState) -> f64 {
    state.frame.get().vertical().1
}

fn bottom(state: ChartState) -> f64 {
    state.frame.get().vertical().0
}

fn grid(state: ChartState) -> impl IntoView {
    let (left, right, top, bottom) = (left(state), right(state), top(state), bottom(state));
    state.picture.with(|picture| {
        let across = picture
            .y_ticks
            .iter()
            .map(|tick| view! { <line x1=left x2=right y1=tick.pixel y2=tick.pixel /> });
        let down = picture
            .x_ticks
            .iter()
            .map(|tick| view! { <line x1=tick.pixel x2=tick.pixel y1=bottom y2=bottom + 5.0 /> });
        let lines = across.chain(down).collect_view();
        view! {
            {lines}
            <line class="chart-axis" x1=left x2=right y1=bottom y2=bottom />
            <line class="chart-axis" x1=left x2=left y1=top y2=bottom />
        }
    })
}

fn labels(state: ChartState) -> impl IntoView {
    let (left, bottom) = (left(state), bottom(state));
    state.picture.with(|picture| {
        let values = picture.y_ticks.iter().map(|tick| {
            view! { <text x=left - 8.0 y=tick.pixel text-anchor="end" dominant-baseline="middle">{tick.label.clone()}</text> }
        });
        let counts = picture.x_ticks.iter().map(|tick| {
            view! { <text x=tick.pixel y=bottom + 18.0 text-anchor="middle" dominant-baseline="auto">{tick.label.clone()}</text> }
        });
        values.chain(counts).collect_view()
    })
}

/// The lane's number at the end of its line, pushed apart where lines meet, so that colour and dashes are not the only signs.
fn marks(picture: &Picture) -> impl IntoView + use<> {
    let heights: Vec<Option<f64>> = picture.ends.iter().map(|end| end.map(|mark| mark.y)).collect();
    let apart = spread(&heights, MARK * 2.0);
    (1_usize..)
        .zip(picture.ends.iter().zip(apart))
        .filter_map(|(number, (end, y))| Some((number, (*end)?.x + MARK + 4.0, y?)))
        .map(|(number, x, y)| {
            view! {
                <g class="chart-end" data-lane=number>
                    <circle cx=x cy=y r=MARK />
                    <text x=x y=y text-anchor="middle" dominant-baseline="central">{number}</text>
                </g>
            }
        })
        .collect_view()
}

fn brush(state: ChartState) -> Option<impl IntoView> {
    let (from, to) = state.brush.get()?;
    let (top, bottom) = (top(state), bottom(state));
    Some(view! {
        <rect class="chart-brush" x=from.min(to) y=top width=(from - to).abs() height=bottom - top />
    })
}

fn cursor(state: ChartState) -> Option<impl IntoView> {
    let reading = state.reading.get()?;
    let (top, bottom) = (top(state), bottom(state));
    state.picture.with(|picture| {
        let x = picture
            .x
            .pixel(reading.x)
            .filter(|_| picture.x.domain().contains(reading.x))?;
        let dots = (1_usize..)
            .zip(&reading.lanes)
            .filter_map(|(number, hit)| Some((number, picture.y.pixel((*hit)?.y)?)))
            .map(|(number, y)| view! { <circle class="chart-dot" data-lane=number cx=x cy=y r=DOT /> })
            .collect_view();
        Some(view! {
            <line class="chart-cursor" x1=x x2=x y1=top y2=bottom />
            {dots}
        })
    })
}
