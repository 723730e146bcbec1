//! Bytes as they are counted: what a run takes phase by phase, where it is stopped, and, in [`largest`], the largest m that fits.
#![cfg(all(not(target_arch = "wasm32"), feature = "engine"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a broken premise must fail its test at once"
)]

#[path = "memory/largest.rs"]
mod largest;
#[path = "support/measured.rs"]
mod measured;
#[path = "support/reference.rs"]
#[allow(dead_code, reason = "other tests use it")]
mod reference;
#[path = "support/short_run.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod short_run;

use measured::{alone, group, groups};
use microbatch_lab::{
    engine::{Advance, CountingAllocator, Device, Session, memory::allocator},
    protocol::{Fault, FullBatch, MemoryRow, MemorySource, Phase, PhaseBytes},
    setup::{Key, Setup},
};
use pollster::block_on;
use short_run::{corpus, setup};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const BLOCK: usize = 1 << 20;
const MIB: u64 = BLOCK as u64;

/// What the harness's own threads may take meanwhile.
const SLACK: u64 = 64 * 1024;

fn session(setup: &Setup) -> Session {
    Session::new(&Device::flex(), setup, corpus(setup)).unwrap()
}

/// What the device's libraries make once and keep is no run's.
fn warm() {
    groups(&mut session(&setup(&[])), 2);
}

fn of(row: &MemoryRow, phase: Phase, replica: Option<u32>) -> PhaseBytes {
    let all = row.phases.iter().copied();
    let mut all = all.filter(|bytes| (bytes.phase, bytes.replica) == (phase, replica));
    let found = all
        .next()
        .unwrap_or_else(|| panic!("no {phase:?} of {replica:?} in {row:?}"));
    assert!(all.next().is_none(), "each phase and replica stands once");
    found
}

#[test]
fn what_is_taken_and_given_back_is_counted() {
    alone(|| {
        allocator::mark();
        let before = allocator::in_use().unwrap();
        let mut block = vec![1u8; 4 * BLOCK];
        let near = |ours: u64, expected: u64| assert!(ours.abs_diff(expected) <= SLACK, "{ours} against {expected}");
        near(allocator::in_use().unwrap(), before + 4 * MIB);
        block.reserve_exact(8 * BLOCK);
        near(allocator::in_use().unwrap(), before + 12 * MIB);
        block.truncate(1);
        block.shrink_to_fit();
        near(allocator::in_use().unwrap(), before);
        assert!(allocator::peak() >= before + 12 * MIB);
        let zeros = vec![0u64; BLOCK / 8];
        near(allocator::in_use().unwrap(), before + MIB);
        drop((block, zeros));
        near(allocator::in_use().unwrap(), before);
        allocator::mark();
        near(allocator::peak(), before);
    });
}

/// Large enough that a vector of all parameters stands out from everything else.
const WIDE: &[(Key, &str)] = &[
    (Key::Width, "64"),
    (Key::Layers, "2"),
    (Key::Lanes, "token_weighted"),
    (Key::Budget, "3"),
];

#[test]
fn parameters_and_optimizer_state_stand_where_they_must() {
    alone(|| {
        warm();
        for (optimizer, vectors) in [("adamw", 2), ("sgd", 1)] {
            let setup = setup(&[WIDE, &[(Key::Optimizer, optimizer)]].concat());
            let mut session = session(&setup);
            let facts = session.facts();
            let vector = 4 * facts.parameters;
            let built = facts.memory.unwrap();
            assert_eq!(
                (built.source, built.reserved, built.phases.len()),
                (MemorySource::Allocator, None, 1)
            );
            let model = of(&built, Phase::Model, None);
            assert!(
                model.after - model.before >= vector && model.peak >= model.after,
                "{model:?}"
            );
            let row = group(&mut session).memory.unwrap();
            let state = of(&row, Phase::OptimizerState, None);
            assert_eq!(state.before, model.after);
            let grown = state.after - state.before;
            let expected = vectors * vector;
            assert!(
                grown >= expected && grown < expected + vector / 4,
                "{optimizer}: {grown} bytes, {vectors} vectors are {expected}"
            );
            assert_eq!(session.facts().memory.unwrap().phases, [model, state]);
            let second = group(&mut session).memory.unwrap();
            assert!(second.phases.iter().all(|bytes| bytes.phase != Phase::OptimizerState));
        }
    });
}

#[test]
fn each_phase_of_each_replica_has_its_perimeter() {
    alone(|| {
        warm();
        let setup = setup(&[(Key::Budget, "1")]);
        let mut session = session(&setup);
        let row = group(&mut session).memory.unwrap();
        for replica in 0..2 {
            let (forward, backward) = (
                of(&row, Phase::Forward, Some(replica)),
                of(&row, Phase::Backward, Some(replica)),
            );
            // The forward leaves its graph behind, the backward eats it and leaves a gradient.
            assert!(
                forward.after > forward.before && backward.peak > backward.before,
                "{row:?}"
            );
            assert!(backward.after < backward.before, "{row:?}");
        }
        let update = of(&row, Phase::Update, None);
        assert!(update.peak > update.before);
        let largest = row.phases.iter().map(|bytes| bytes.peak).max();
        assert_eq!(Some(row.peak), largest);
        for bytes in &row.phases {
            assert!(bytes.peak >= bytes.after && bytes.peak >= bytes.before || bytes.phase == Phase::OptimizerState);
        }
    });
}

/// All examples alike, so that microbatches differ in nothing.
const ALIKE: &[(Key, &str)] = &[
    (Key::Data, "two_sources"),
    (Key::Lengths, "list"),
    (Key::LengthList, "16"),
    (Key::Examples, "64"),
    (Key::Replicas, "1"),
    (Key::Lanes, "token_weighted"),
];

#[test]
fn more_accumulation_takes_no_more_memory() {
    alone(|| {
        warm();
        let peak = |accumulation| {
            let setup = setup(
                &[
                    ALIKE,
                    &[
                        (Key::Microbatch, "4"),
                        (Key::Accumulation, accumulation),
                        (Key::Budget, "3"),
                    ],
                ]
                .concat(),
            );
            let mut session = session(&setup);
            let base = of(&session.facts().memory.unwrap(), Phase::Model, None).before;
            let rows = groups(&mut session, 3);
            // What the run takes, without what the test itself has lying around.
            rows.iter().map(|row| row.memory.as_ref().unwrap().peak).max().unwrap() - base
        };
        let (few, many) = (peak("2"), peak("16"));
        println!(
            "peak {few} bytes at A = 2, {many} at A = 16: {:.4}",
            many as f64 / few as f64
        );
        assert!(many as f64 <= 1.05 * few as f64, "{few} at A = 2, {many} at A = 16");
    });
}

#[test]
fn two_hundred_updates_do_not_grow() {
    alone(|| {
        warm();
        let setup = setup(&[ALIKE, &[(Key::Budget, "200"), (Key::Model, "token_mlp")]].concat());
        let mut session = session(&setup);
        let mut in_use: Vec<u64> = Vec::with_capacity(200);
        while in_use.len() < 200 {
            if let Advance::Updated(row) = block_on(session.advance(false)).unwrap() {
                in_use.push(row.memory.as_ref().unwrap().in_use);
            }
        }
        let settled = &in_use[20..];
        let (early, late) = settled.split_at(settled.len() / 2);
        let range = |of: &[u64]| (*of.iter().min().unwrap(), *of.iter().max().unwrap());
        let ((low, high), (low_later, high_later)) = (range(early), range(late));
        let noise = (high - low).max(4096);
        println!("in use {low} to {high} bytes, later {low_later} to {high_later}");
        assert!(
            high_later <= high + noise && low_later <= low + noise,
            "{low}..{high}, then {low_later}..{high_later}"
        );
    });
}

#[test]
fn a_run_ends_where_it_passes_its_limit_and_not_before() {
    alone(|| {
        warm();
        let plain = setup(&[(Key::Model, "token_mlp")]);
        let peak = group(&mut session(&plain)).memory.unwrap().peak;
        let limited = |limit| {
            let setup = Setup {
                memory_limit: limit,
                ..plain.clone()
            };
            let mut session = session(&setup);
            loop {
                match block_on(session.advance(false)) {
                    Ok(Advance::Updated(_)) => return None,
                    Ok(_) => {}
                    Err(fault) => return Some(fault),
                }
            }
        };
        assert_eq!(limited(peak + MIB), None);
        let limit = peak - peak / 10;
        match limited(limit) {
            Some(Fault::MemoryLimit {
                in_use,
                limit: told,
                group,
            }) => {
                assert!(in_use > limit && told == limit && group == 0, "{in_use} of {limit}");
            }
            other => panic!("{other:?} at {limit}, the peak is {peak}"),
        }
    });
}

/// Not even the working memory of the full batch, which is larger than a microbatch's.
#[test]
fn a_probe_leaves_nothing_behind() {
    alone(|| {
        warm();
        let mut session = session(&setup(&[(Key::Microbatch, "1"), (Key::Accumulation, "16")]));
        group(&mut session);
        // The libraries under the device keep what they make on first use.
        block_on(session.probe(FullBatch::InOnePass)).unwrap();
        let before = allocator::in_use().unwrap();
        block_on(session.probe(FullBatch::InOnePass)).unwrap();
        let after = allocator::in_use().unwrap();
        assert!(
            after.abs_diff(before) <= SLACK,
            "{after} bytes in use where {before} were"
        );
    });
}

/// A run that ends between a forward and its backward leaves its graph behind, and no later run is charged for it.
#[test]
fn what_an_ended_run_leaves_behind_is_given_back_before_the_next() {
    alone(|| {
        warm();
        // With dropout its forward is a graph of autodiff.
        let setup = setup(&[(Key::Microbatch, "8"), (Key::Accumulation, "1"), (Key::Dropout, "0.1")]);
        let before = |session: &Session| of(&session.facts().memory.unwrap(), Phase::Model, None).before;
        // The libraries under autodiff keep what they make on first use.
        group(&mut session(&setup));
        let first = session(&setup);
        let clean = before(&first);
        drop(first);
        let mut ended = session(&setup);
        for _ in 0..2 {
            block_on(ended.advance(true)).unwrap();
        }
        drop(ended);
        let left = allocator::in_use().unwrap() - clean;
        assert!(left > 4 * SLACK, "a graph of {left} bytes is still there");
        let next = before(&session(&setup));
        assert!(next <= clean + SLACK, "{next} bytes in use where {clean} were");
    });
}
