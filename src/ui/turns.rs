//! Which part of the page is drawn when: a run's news reach one part after another, so that no single task draws all of it.

use std::time::Duration;

use leptos::prelude::*;

use super::browser;

/// The parts, in the order they are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Loss cards and progress.
    Cards,
    /// The chart.
    Curves,
    /// The grid of the group being worked on.
    Group,
    /// The sums behind the denominators.
    Sums,
    /// The lane-by-lane table and the journal.
    Tables,
    /// The loss scale.
    Scale,
    /// Communication, clipping and the log.
    Exchange,
    /// Memory.
    Memory,
}

impl Turn {
    /// Whether this part is on the page from the start; the others wait for nobody while their panels are closed.
    fn always(self) -> bool {
        !matches!(self, Self::Scale | Self::Exchange | Self::Memory)
    }
}

const TURNS: [Turn; 8] = [
    Turn::Cards,
    Turn::Curves,
    Turn::Group,
    Turn::Sums,
    Turn::Tables,
    Turn::Scale,
    Turn::Exchange,
    Turn::Memory,
];

/// Between one part and the next, after the first has been painted. A round is then some tenths of a second: numbers that change faster
/// are not read anyway.
const BETWEEN: Duration = Duration::from_millis(20);

/// The turns of one page.
#[derive(Clone, Copy)]
pub(super) struct Turns {
    /// Kept apart, so that what is copied with the state stays small.
    drawn: StoredValue<[RwSignal<u32>; TURNS.len()]>,
    /// How many panels hold each turn; see [`Turn::always`].
    held: StoredValue<[u32; TURNS.len()]>,
    /// A round is under way.
    busy: StoredValue<bool>,
    /// News came in since the round began.
    more: StoredValue<bool>,
}

impl Turns {
    pub(super) fn new() -> Self {
        Self {
            drawn: StoredValue::new(std::array::from_fn(|_| RwSignal::new(0))),
            held: StoredValue::new([0; TURNS.len()]),
            busy: StoredValue::new(false),
            more: StoredValue::new(false),
        }
    }

    /// Follows the turn of one part.
    pub(super) fn track(self, turn: Turn) {
        if let Some(drawn) = self.drawn.try_get_value() {
            drawn[turn as usize].track();
        }
    }

    /// Gives a part its turn for as long as the present owner lives.
    pub(super) fn hold(self, turn: Turn) {
        let held = self.held;
        held.try_update_value(|held| held[turn as usize] += 1);
        on_cleanup(move || {
            held.try_update_value(|held| held[turn as usize] = held[turn as usize].saturating_sub(1));
        });
    }

    /// The first turn from `at` on that somebody looks at, and its place.
    fn next(self, at: usize) -> Option<(usize, Turn)> {
        let held = self.held.try_get_value().unwrap_or_default();
        let mut turns = TURNS.into_iter().enumerate().skip(at);
        turns.find(|(place, turn)| turn.always() || held[*place] > 0)
    }

    /// All parts now: the person did something and looks for the answer.
    pub(super) fn all(self) {
        for turn in TURNS {
            self.draw(turn);
        }
    }

    /// One part after another; what comes in meanwhile makes one more round.
    pub(super) fn one_by_one(self) {
        if self.busy.try_get_value().unwrap_or(true) {
            self.more.try_set_value(true);
            return;
        }
        self.busy.try_set_value(true);
        // Not in the task that took the news in.
        after_frame(Duration::ZERO, move || self.take(0));
    }

    fn take(self, at: usize) {
        let Some((at, turn)) = self.next(at) else {
            self.busy.try_set_value(false);
            if self.more.try_update_value(std::mem::take).unwrap_or(false) {
                self.one_by_one();
            }
            return;
        };
        self.draw(turn);
        after_frame(BETWEEN, move || self.take(at + 1));
    }

    fn draw(self, turn: Turn) {
        if let Some(drawn) = self.drawn.try_get_value() {
            drawn[turn as usize].try_update(|count| *count = count.wrapping_add(1));
        }
    }
}

/// Once the next frame is painted and `rest` has passed: what runs inside a frame adds to its layout and paint. A page nobody looks at
/// gets no frames.
pub(super) fn after_frame(rest: Duration, act: impl FnOnce() + 'static) {
    if browser::hidden() {
        set_timeout(act, rest);
    } else {
        request_animation_frame(move || set_timeout(act, rest));
    }
}
