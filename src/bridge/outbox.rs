//! What is still to be told: at once while someone watches, at most once a frame while nobody can follow anyway.

use crate::{
    batch::GroupPlan,
    protocol::{Event, GroupRow, MicrobatchRow, RunId},
};

/// At full speed at least this long between two messages, in milliseconds: one frame.
pub const FRAME_MS: f64 = 16.0;

/// At full speed a group's own progress is told only if it takes at least this long, in milliseconds. A quicker one is over before
/// its grid could be read; its row says all of it.
pub const SLOW_GROUP_MS: f64 = 100.0;

/// Events in order, and the group in progress.
#[derive(Debug, Default)]
pub struct Outbox {
    events: Vec<Event>,
    at_once: bool,
    last_ms: f64,
    current: Option<Current>,
}

#[derive(Debug)]
struct Current {
    run: RunId,
    began_ms: f64,
    /// Not told yet.
    plan: Option<GroupPlan>,
    /// Not told yet.
    rows: Vec<MicrobatchRow>,
}

impl Outbox {
    /// Tells this without delay, after everything that waits.
    pub fn say(&mut self, event: Event) {
        self.events.push(event);
        self.at_once = true;
    }

    /// A group begins.
    pub fn began(&mut self, run: RunId, plan: GroupPlan, now_ms: f64, watched: bool) {
        self.current = Some(Current {
            run,
            began_ms: now_ms,
            plan: Some(plan),
            rows: Vec::new(),
        });
        self.watch(watched);
    }

    /// Microbatches of the group got further.
    pub fn microbatches(&mut self, rows: Vec<MicrobatchRow>, watched: bool) {
        if let Some(current) = &mut self.current {
            current.rows.extend(rows);
        }
        self.watch(watched);
    }

    /// The group ended.
    pub fn updated(&mut self, run: RunId, row: GroupRow, watched: bool) {
        self.watch(watched);
        self.current = None;
        match self.events.last_mut() {
            Some(Event::Groups { run: last, rows }) if *last == run => rows.push(row),
            _ => self.events.push(Event::Groups { run, rows: vec![row] }),
        }
    }

    /// The run is replaced: its group in progress is of no interest any more.
    pub fn forget_group(&mut self) {
        self.current = None;
    }

    /// One message, if one is due.
    pub fn due(&mut self, now_ms: f64) -> Option<Vec<Event>> {
        let frame_over = now_ms - self.last_ms >= FRAME_MS;
        if !self.at_once && !frame_over {
            return None;
        }
        if self
            .current
            .as_ref()
            .is_some_and(|current| now_ms - current.began_ms >= SLOW_GROUP_MS)
        {
            self.tell_current();
        }
        self.at_once = false;
        if self.events.is_empty() {
            return None;
        }
        self.last_ms = now_ms;
        Some(std::mem::take(&mut self.events))
    }

    fn watch(&mut self, watched: bool) {
        if watched {
            self.tell_current();
            self.at_once = true;
        }
    }

    fn tell_current(&mut self) {
        let Some(current) = &mut self.current else { return };
        let run = current.run;
        if let Some(plan) = current.plan.take() {
            self.events.push(Event::Group { run, plan });
        }
        if !current.rows.is_empty() {
            self.events.push(Event::Microbatches {
                run,
                rows: std::mem::take(&mut current.rows),
            });
        }
    }
}
