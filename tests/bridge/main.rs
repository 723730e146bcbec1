//! The wire between page and worker: what is told when, and where a run may stop. The worker's loop runs against a trainer that does
//! nothing and a clock that does not run.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::expect_used, reason = "a helper of a test fails it")]

#[path = "../worker/mod.rs"]
mod worker;

mod bytes;
mod device;
mod pace;
mod runs;
mod tools;

use microbatch_lab::protocol::{CellState, Event, Fault, RunId, RunState};

const RUN: RunId = RunId(1);

fn states(events: &[Event]) -> Vec<RunState> {
    events
        .iter()
        .filter_map(|event| match event {
            Event::State { state, .. } => Some(*state),
            _ => None,
        })
        .collect()
}

fn cells(events: &[Event]) -> Vec<(u64, u32, CellState)> {
    let rows = events.iter().filter_map(|event| match event {
        Event::Microbatches { rows, .. } => Some(rows),
        _ => None,
    });
    rows.flatten().map(|row| (row.group, row.cell, row.state)).collect()
}

fn ended(events: &[Event]) -> Vec<u64> {
    let rows = events.iter().filter_map(|event| match event {
        Event::Groups { rows, .. } => Some(rows),
        _ => None,
    });
    rows.flatten().map(|row| row.plan.number).collect()
}

fn faults(events: &[Event]) -> Vec<(Option<RunId>, Fault)> {
    events
        .iter()
        .filter_map(|event| match event {
            Event::Fault { run, fault } => Some((*run, fault.clone())),
            _ => None,
        })
        .collect()
}
