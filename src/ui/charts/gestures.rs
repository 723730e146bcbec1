//! What pointers, wheels and keys do to a chart.

use leptos::{ev, prelude::*};
use web_sys::Element;

use super::state::{ChartState, Finger};
use crate::chart::Span;

/// A drag shorter than this, in pixels, was a click.
const LEAST_DRAG: f64 = 6.0;

/// One notch of a wheel is about 100 pixels and zooms by about a seventh.
const ZOOM_A_PIXEL: f64 = 0.0015;

/// Pixels of a wheel that counts in lines.
const LINE: f64 = 16.0;

/// Less than two units of a count says nothing.
pub(super) const LEAST_LENGTH: f64 = 2.0;

const TOUCH: &str = "touch";

impl ChartState {
    pub(super) fn pointer_down(self, event: &ev::PointerEvent, stage: &Element) {
        if event.button() != 0 {
            return;
        }
        // So that a drag that leaves the chart still ends here.
        stage.set_pointer_capture(event.pointer_id()).ok();
        let x = self.in_plot(pixel(event, stage));
        let value = self.value(x);
        self.fingers.update_value(|fingers| {
            fingers.push(Finger {
                id: event.pointer_id(),
                pixel: x,
                value,
            });
        });
        let alone = self.fingers.with_value(Vec::len) == 1;
        self.brush.set(alone.then_some((x, x)));
        self.cursor.set(Some(value));
    }

    pub(super) fn pointer_move(self, event: &ev::PointerEvent, stage: &Element) {
        let x = self.in_plot(pixel(event, stage));
        self.fingers.update_value(|fingers| {
            fingers
                .iter_mut()
                .filter(|finger| finger.id == event.pointer_id())
                .for_each(|finger| finger.pixel = x);
        });
        if self.fingers.with_value(Vec::len) > 1 {
            return self.pinch();
        }
        self.cursor.set(Some(self.value(x)));
        if let Some((from, _)) = self.brush.get_untracked() {
            self.brush.set(Some((from, x)));
        }
    }

    /// The two fingers that came first keep the values they were put on.
    fn pinch(self) {
        let (left, right) = self.frame.get_untracked().horizontal();
        let held = |finger: &Finger| (finger.value, (finger.pixel - left) / (right - left));
        let Some((first, second)) = self
            .fingers
            .with_value(|fingers| Some((held(fingers.first()?), held(fingers.get(1)?))))
        else {
            return;
        };
        let full = self.picture.with_untracked(|picture| picture.full);
        self.window.set(Span::held(full, first, second, LEAST_LENGTH));
    }

    pub(super) fn pointer_up(self, event: &ev::PointerEvent) {
        let dragged = self
            .brush
            .get_untracked()
            .filter(|(from, to)| (from - to).abs() >= LEAST_DRAG);
        if let Some(span) = dragged.and_then(|(from, to)| Span::between(self.value(from), self.value(to))) {
            self.window.set(Some(span));
        }
        self.pointer_gone(event);
    }

    pub(super) fn pointer_gone(self, event: &ev::PointerEvent) {
        self.fingers
            .update_value(|fingers| fingers.retain(|finger| finger.id != event.pointer_id()));
        self.brush.set(None);
    }

    /// A finger that is lifted leaves too, but what it pointed at is still to be read.
    pub(super) fn pointer_leave(self, event: &ev::PointerEvent) {
        if self.brush.get_untracked().is_none() && event.pointer_type() != TOUCH {
            self.cursor.set(None);
        }
    }

    pub(super) fn wheel(self, event: &ev::WheelEvent, stage: &Element) {
        let unit = if event.delta_mode() == ev::WheelEvent::DOM_DELTA_LINE {
            LINE
        } else {
            1.0
        };
        let factor = (event.delta_y() * unit * ZOOM_A_PIXEL).exp();
        // With all in view, turning further out scrolls the page as it does elsewhere.
        if factor > 1.0 && !self.zoomed() {
            return;
        }
        event.prevent_default();
        let at = self.value(self.in_plot(pixel(event, stage)));
        self.zoom(at, factor);
    }

    pub(super) fn key(self, event: &ev::KeyboardEvent) {
        if event.ctrl_key() || event.alt_key() || event.meta_key() {
            return;
        }
        let stride = if event.shift_key() { 10 } else { 1 };
        let full = self.picture.with_untracked(|picture| picture.full);
        match event.key().as_str() {
            "ArrowLeft" => self.move_cursor(-stride),
            "ArrowRight" => self.move_cursor(stride),
            "PageUp" => self.move_cursor(-100),
            "PageDown" => self.move_cursor(100),
            "Home" => self.read_at(Some(full.low())),
            "End" => self.read_at(Some(full.high())),
            "+" | "=" => self.zoom(self.middle(), 0.5),
            "-" => self.zoom(self.middle(), 2.0),
            "0" => self.window.set(None),
            "Escape" if self.zoomed() => self.window.set(None),
            "Escape" => self.cursor.set(None),
            _ => return,
        }
        event.prevent_default();
    }

    /// Where keys zoom about: where the person reads, else the middle.
    fn middle(self) -> f64 {
        let domain = self.picture.with_untracked(|picture| picture.x.domain());
        let cursor = self.cursor.get_untracked().filter(|x| domain.contains(*x));
        cursor.unwrap_or(f64::midpoint(domain.low(), domain.high()))
    }

    fn in_plot(self, x: f64) -> f64 {
        let (left, right) = self.frame.get_untracked().horizontal();
        x.clamp(left, right)
    }

    fn value(self, pixel: f64) -> f64 {
        self.picture.with_untracked(|picture| picture.x.value(pixel))
    }
}

/// Pixels from the left edge of the stage.
fn pixel(event: &ev::MouseEvent, stage: &Element) -> f64 {
    f64::from(event.client_x()) - stage.get_bounding_client_rect().left()
}
