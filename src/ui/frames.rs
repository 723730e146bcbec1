//! Gathers the worker's events, so that the page is drawn at most once a frame.

use std::{cell::RefCell, rc::Rc, time::Duration};

use leptos::prelude::*;

use super::{browser, turns::after_frame};
use crate::protocol::Event;

/// A page nobody looks at gets no frames; its state still follows, this often.
const HIDDEN: Duration = Duration::from_millis(250);

/// Events on their way to the state.
#[derive(Clone)]
pub(crate) struct Frames {
    waiting: Rc<RefCell<Vec<Event>>>,
    deliver: Rc<dyn Fn(Vec<Event>)>,
}

impl Frames {
    /// Nothing waits yet.
    pub(crate) fn new(deliver: impl Fn(Vec<Event>) + 'static) -> Self {
        Self {
            waiting: Rc::default(),
            deliver: Rc::new(deliver),
        }
    }

    /// Events came in; they are delivered with the next frame.
    pub(crate) fn push(&self, events: Vec<Event>) {
        let first = self.waiting.borrow().is_empty();
        self.waiting.borrow_mut().extend(events);
        if !first {
            return;
        }
        let this = self.clone();
        if browser::hidden() {
            set_timeout(move || this.flush(), HIDDEN);
        } else {
            after_frame(Duration::ZERO, move || this.flush());
            // Should the page be hidden before the frame comes.
            let this = self.clone();
            set_timeout(move || this.flush(), HIDDEN);
        }
    }

    /// Delivers what waits, now.
    pub(crate) fn flush(&self) {
        let events = std::mem::take(&mut *self.waiting.borrow_mut());
        if !events.is_empty() {
            (self.deliver)(events);
        }
    }
}
