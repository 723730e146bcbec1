//! Events as a worker would send them.
#![allow(unreachable_pub, reason = "a module of a test")]

use microbatch_lab::{
    batch::{Counters, ExampleId, GroupLoss, GroupPlan, MicrobatchFacts, MicrobatchPlan},
    lab::Msg,
    protocol::{
        CellState, DeviceReport, Event, GroupRow, LaneRow, MicrobatchRow, Outcome, ReplicaSpread, RunFacts, SelfCheck,
        VERSION, Watched,
    },
};

pub fn ready() -> Msg {
    Msg::Worker(Event::Ready { version: VERSION })
}

pub fn opened() -> Msg {
    Msg::Worker(Event::Opened(DeviceReport {
        kind: "cpu".to_owned(),
        adapter: None,
        open_ms: 1.0,
    }))
}

pub fn checked(gradient_error: f64) -> Msg {
    Msg::Worker(Event::Checked(SelfCheck {
        gradient_error,
        loss_error: 0.0,
        tolerance: 1e-4,
        took_ms: 1.0,
    }))
}

pub fn facts() -> RunFacts {
    RunFacts {
        parameters: 10,
        vocabulary: 3,
        examples: 4,
        groups_per_epoch: 2,
        dropped_per_epoch: 0,
        dropped: Vec::new(),
        repeated_per_epoch: 0,
        memory: None,
    }
}

/// A group of two microbatches.
pub fn plan(number: u64) -> GroupPlan {
    let microbatch = |replica: u32| MicrobatchPlan {
        ids: vec![ExampleId(replica)],
        facts: MicrobatchFacts {
            replica,
            index: 0,
            examples: 1,
            scored_examples: 1,
            supervised: 2,
            positions: 2,
            unpadded: 2,
        },
        padded: 0,
    };
    GroupPlan {
        number,
        epoch: 0,
        partial: false,
        replicas: 2,
        nominal_accumulation: 1,
        microbatches: vec![microbatch(0), microbatch(1)],
    }
}

pub fn microbatch(group: u64, cell: u32, state: CellState, watched: bool) -> MicrobatchRow {
    let lane = Watched {
        loss_sum: Some(1.0),
        checksum: 7,
        counters: Counters::default(),
    };
    MicrobatchRow {
        group,
        cell,
        state,
        lanes: if watched { vec![lane, lane] } else { Vec::new() },
    }
}

/// A group that ended: every group took 10 ms and applied one update.
pub fn group(number: u64) -> GroupRow {
    let counters = Counters {
        applied_updates: number + 1,
        ..Counters::default()
    };
    let lane = LaneRow {
        inner: Vec::new(),
        outcome: Outcome::Applied,
        loss_sums: vec![1.0, 3.0],
        loss: GroupLoss::from_sums([(1.0, 2), (3.0, 2)]),
        logged_loss: 1.0,
        gradient_norm: 1.0,
        clip_norms: Vec::new(),
        scale: None,
        batch_norm: None,
        rate: 0.1,
        counters,
        checksums: None,
        apart: None,
        replicas: ReplicaSpread::InStep,
    };
    GroupRow {
        plan: plan(number),
        dropped: Vec::new(),
        lanes: vec![lane.clone(), lane],
        elapsed_ms: (number + 1) as f64 * 10.0,
        memory: None,
    }
}
