//! What a chart is fed with, and what it remembers between two looks.

use std::sync::Arc;

use leptos::prelude::*;

use super::gestures::LEAST_LENGTH;

use crate::{
    chart::{Curve, Frame, Kind, Picture, Reading, Request, Span, picture, read},
    protocol::RunId,
};

/// Which points there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Version {
    /// Points of another key are other points: the curves start anew.
    pub key: u64,
    /// Points of each lane.
    pub points: usize,
}

impl Version {
    /// Of a run and how many of its groups ended.
    pub fn of_run(ended: Option<(RunId, usize)>) -> Self {
        let (run, points) = ended.map_or((0, 0), |(run, ended)| (run.0, ended));
        Self {
            key: u64::from(run),
            points,
        }
    }
}

/// Reads the points of a lane from a place on, and hands each to the function it is given.
type Read = Arc<dyn Fn(usize, usize, &mut dyn FnMut(f64, f64)) + Send + Sync>;

/// Where points come from. They are only ever appended under one key, so each is read once.
#[derive(Clone)]
pub struct Feed {
    version: Signal<Version>,
    read: Read,
}

impl std::fmt::Debug for Feed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Feed").finish_non_exhaustive()
    }
}

impl Feed {
    /// `read(lane, from, push)` pushes the points of `lane` from number `from` on.
    pub fn new(
        version: impl Into<Signal<Version>>,
        read: impl Fn(usize, usize, &mut dyn FnMut(f64, f64)) + Send + Sync + 'static,
    ) -> Self {
        Self {
            version: version.into(),
            read: Arc::new(read),
        }
    }
}

/// One lane of a chart; its place in the list gives its colour, dashes and mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartLane {
    /// What it is called.
    pub label: String,
    /// Whether it is drawn.
    pub visible: bool,
}

/// Everything a person reads on a chart, in their language.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChartWords {
    /// What the chart shows, in a sentence, for those who do not see it.
    pub summary: String,
    /// How to use it.
    pub help: String,
    /// Said while there is no point.
    pub empty: String,
    /// The button that shows the whole run again.
    pub reset: String,
    /// Name and unit of the horizontal axis.
    pub x: String,
    /// Name of what is shown.
    pub y: String,
}

/// A finger on the chart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Finger {
    pub(super) id: i32,
    pub(super) pixel: f64,
    pub(super) value: f64,
}

/// What a chart remembers.
#[derive(Clone, Copy)]
pub(super) struct ChartState {
    pub(super) curves: StoredValue<Vec<Curve>>,
    /// Changes whenever the curves did.
    pub(super) fed: Memo<Version>,
    pub(super) frame: RwSignal<Frame>,
    /// The part of the horizontal axis that is shown; `None` for all of it.
    pub(super) window: RwSignal<Option<Span>>,
    /// Where the person is reading.
    pub(super) cursor: RwSignal<Option<f64>>,
    /// The stretch being dragged over, in pixels.
    pub(super) brush: RwSignal<Option<(f64, f64)>>,
    /// Fingers on the chart, and the value that each one holds.
    pub(super) fingers: StoredValue<Vec<Finger>>,
    pub(super) picture: Memo<Picture>,
    pub(super) reading: Memo<Option<Reading>>,
}

impl ChartState {
    pub(super) fn new(feed: Feed, lanes: Signal<Vec<ChartLane>>, kind: Signal<Kind>) -> Self {
        let curves = StoredValue::new(Vec::new());
        let window = RwSignal::new(None);
        let cursor = RwSignal::new(None);
        let visible = Memo::new(move |_| lanes.with(|lanes| lanes.iter().map(|lane| lane.visible).collect::<Vec<_>>()));
        let fed = Memo::new(move |before: Option<&Version>| {
            let version = feed.version.get();
            let lanes = visible.with(Vec::len);
            curves.update_value(|curves: &mut Vec<Curve>| {
                if before.is_none_or(|before| before.key != version.key) {
                    curves.clear();
                }
                curves.resize_with(lanes, Curve::default);
                for (lane, curve) in curves.iter_mut().enumerate() {
                    let from = curve.len();
                    (feed.read)(lane, from, &mut |x, y| curve.push(x, y));
                }
            });
            version
        });
        // What was chosen for other points means nothing for these.
        Effect::watch(
            move || fed.get().key,
            move |_, _, _| {
                window.set(None);
                cursor.set(None);
            },
            false,
        );
        let frame = RwSignal::new(Frame {
            width: 640.0,
            height: 260.0,
        });
        let picture = Memo::new(move |_| {
            fed.track();
            let (window, frame, kind) = (window.get(), frame.get(), kind.get());
            visible.with(|visible| {
                curves.with_value(|curves| {
                    picture(&Request {
                        curves,
                        visible,
                        frame,
                        window,
                        kind,
                    })
                })
            })
        });
        let reading = Memo::new(move |_| {
            fed.track();
            let x = cursor.get()?;
            visible.with(|visible| curves.with_value(|curves| read(curves, visible, x)))
        });
        Self {
            curves,
            fed,
            frame,
            window,
            cursor,
            brush: RwSignal::new(None),
            fingers: StoredValue::new(Vec::new()),
            picture,
            reading,
        }
    }

    /// Shows less (`factor` below 1) or more about a place.
    pub(super) fn zoom(self, at: f64, factor: f64) {
        let zoomed = self
            .picture
            .with_untracked(|picture| picture.x.domain().zoomed(picture.full, at, factor, LEAST_LENGTH));
        self.window.set(zoomed);
    }

    /// Whether more could be shown.
    pub(super) fn zoomed(self) -> bool {
        self.window.with_untracked(Option::is_some)
    }

    /// Moves where the person is reading to the point `by` further on the first visible lane.
    pub(super) fn move_cursor(self, by: isize) {
        let next = self.curves.with_value(|curves| {
            let reading = self.reading.get_untracked();
            let Some(hit) = reading.as_ref().and_then(|reading| {
                reading
                    .lanes
                    .iter()
                    .enumerate()
                    .find_map(|(lane, hit)| Some((lane, (*hit)?)))
            }) else {
                return curves.iter().find_map(|curve| curve.xs().last().copied());
            };
            let (lane, hit) = hit;
            let curve = curves.get(lane)?;
            let at = hit.at.saturating_add_signed(by).min(curve.len().saturating_sub(1));
            curve.xs().get(at).copied()
        });
        self.read_at(next);
    }

    /// Reads at `x`, and brings it into view.
    pub(super) fn read_at(self, x: Option<f64>) {
        self.cursor.set(x);
        let (full, domain) = self
            .picture
            .with_untracked(|picture| (picture.full, picture.x.domain()));
        if let Some(x) = x.filter(|x| !domain.contains(*x)) {
            let distance = if x < domain.low() {
                x - domain.low()
            } else {
                x - domain.high()
            };
            if self.zoomed() {
                self.window.set(Some(domain.panned(full, distance)));
            }
        }
    }
}
