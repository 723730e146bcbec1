//! Bytes as they are counted: what a run takes phase by phase, where it is stopped, and the largest m that fits.
#![cfg(all(not(target_arch = "wasm32"), feature = "engine"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a broken premise must fail its test at once"
)]

#[path = "support/measured.rs"]
mod measured;
#[path = "support/reference.rs"]
#[allow(dead_code, reason = "other tests use it")]
mod reference;
#[path = "support/short_run.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod short_run;

use std::cell::RefCell;

use measured::{alone, group, groups};
use microbatch_lab::{
    batch::fit::Kept,
    data::DataError,
    engine::{Advance, CountingAllocator, Device, Session, fit, memory::allocator},
    protocol::{Fault, FitReport, FitTry, FittingSplit, MemoryRow, MemorySource, Phase, PhaseBytes},
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
        block_on(session.probe()).unwrap();
        let before = allocator::in_use().unwrap();
        block_on(session.probe()).unwrap();
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

fn fitted(setup: &Setup, limit: u64) -> FitReport {
    let told = RefCell::new(Vec::new());
    let go_on = async |tried| {
        told.borrow_mut().extend::<Option<FitTry>>(tried);
        true
    };
    let report = block_on(fit(&Device::flex(), setup, &corpus(setup), limit, &go_on)).unwrap();
    assert_eq!(told.into_inner(), report.tries, "each try is told as it is made");
    report
}

#[test]
fn the_largest_m_really_fits_and_the_next_does_not() {
    alone(|| {
        warm();
        let setup = setup(&[
            (Key::Examples, "64"),
            (Key::Microbatch, "2"),
            (Key::Accumulation, "16"),
            (Key::Lengths, "uniform"),
            (Key::LengthMin, "4"),
            (Key::LengthMax, "32"),
            (Key::Lanes, "token_weighted"),
        ]);
        let all = fitted(&setup, u64::MAX);
        assert_eq!(
            all.split,
            Some(FittingSplit {
                microbatch: 32,
                accumulation: 1,
                replicas: 2,
                remainder: 0
            })
        );
        let peak_of = |m: u32| all.tries.iter().find(|tried| tried.microbatch == m).unwrap().peak;
        // Somewhere between two sizes that were measured.
        let limit = u64::midpoint(peak_of(8), peak_of(16));
        let report = fitted(&setup, limit);
        let split = report.split.unwrap();
        println!("limit {limit}: {:?}, {split:?}", report.tries);
        assert!((8..16).contains(&split.microbatch), "{report:?}");
        let next = report
            .tries
            .iter()
            .find(|tried| tried.microbatch == split.microbatch + 1)
            .unwrap();
        assert!(!next.fits && next.peak > limit, "{next:?}");
        let kept = Kept::of(report.target, split.microbatch, 2).unwrap();
        assert_eq!(
            (split.accumulation, split.remainder),
            (kept.accumulation, kept.remainder)
        );
        // A run with that split stays within the limit over a whole epoch, shuffled as it is.
        let run = Setup {
            split: microbatch_lab::batch::Split::new(split.microbatch, split.accumulation, 2).unwrap(),
            memory_limit: limit + SLACK,
            ..setup.clone()
        };
        let mut session = session(&run);
        let count = session.facts().groups_per_epoch;
        assert!(
            groups(&mut session, count)
                .iter()
                .all(|row| row.memory.as_ref().unwrap().peak <= limit + SLACK)
        );
    });
}

/// What the longest lengths, the first group and the split alone do not show.
const LARGER: &[(Key, &str)] = &[
    (Key::Model, "token_mlp"),
    (Key::Embed, "64"),
    (Key::Hidden, "256"),
    (Key::Examples, "128"),
    (Key::Microbatch, "2"),
    (Key::Accumulation, "16"),
    (Key::Lengths, "uniform"),
    (Key::LengthMin, "8"),
    (Key::LengthMax, "64"),
    (Key::Budget, "8"),
];

/// Most in use over a run with the split that was found, shuffled as it is, on top of what the test itself has.
fn trained(setup: &Setup, split: FittingSplit) -> u64 {
    let run = Setup {
        split: microbatch_lab::batch::Split::new(split.microbatch, split.accumulation, split.replicas).unwrap(),
        ..setup.clone()
    };
    let mut session = session(&run);
    let rows = groups(&mut session, 8);
    rows.iter().map(|row| row.memory.as_ref().unwrap().peak).max().unwrap()
}

#[test]
fn what_fits_can_be_trained_with_whatever_the_lanes_hold_at_once() {
    alone(|| {
        warm();
        for (lanes, optimizer, limits) in [
            ("token_weighted", "sgd", &[5, 8][..]),
            ("token_weighted,full_batch", "sgd", &[5, 24]),
            ("token_weighted+single_backward", "adamw", &[5, 11]),
            ("token_weighted+zero_grad_forgotten,mean_of_means", "adamw", &[8]),
        ] {
            let setup = setup(&[LARGER, &[(Key::Lanes, lanes), (Key::Optimizer, optimizer)]].concat());
            for limit in limits.iter().map(|mib| mib * MIB) {
                let report = fitted(&setup, limit);
                let peak = report.split.map(|split| trained(&setup, split));
                println!("{lanes}, {limit}: {:?}, trained with at most {peak:?}", report.split);
                assert!(peak.is_none_or(|peak| peak <= limit + SLACK), "{report:?}");
                assert_eq!(
                    peak.is_none(),
                    limit == 5 * MIB && lanes != "token_weighted",
                    "{report:?}"
                );
            }
        }
    });
}

/// A smaller m makes room, or at least takes none: in one pass over the group it is the same group whatever m.
#[test]
fn a_larger_m_never_takes_less() {
    alone(|| {
        warm();
        // But for the little that is kept of each microbatch.
        for lanes in ["token_weighted,full_batch", "token_weighted"] {
            let setup = setup(&[LARGER, &[(Key::Lanes, lanes), (Key::Examples, "64")]].concat());
            let report = fitted(&setup, u64::MAX);
            let whole = report.split.unwrap();
            assert_eq!((whole.microbatch, whole.accumulation), (32, 1));
            let mut peaks: Vec<u64> = report.tries.iter().map(|tried| tried.peak).collect();
            println!("{lanes}: {:?}", report.tries);
            // The last try comes after a failure, or is the largest of all: with A = 1 nothing is accumulated beside it, so it may take less.
            peaks.pop();
            assert!(
                peaks.len() > 4 && peaks.windows(2).all(|pair| pair[0] <= pair[1] + SLACK),
                "{peaks:?}"
            );
        }
    });
}

#[test]
fn a_lane_that_keeps_its_graphs_fits_nowhere_for_good() {
    alone(|| {
        let setup = setup(&[(Key::Lanes, "token_weighted,token_weighted+graph_retained")]);
        let go_on = async |_| panic!("nothing is tried");
        let report = block_on(fit(&Device::flex(), &setup, &corpus(&setup), MIB, &go_on));
        assert_eq!(report, Err(Fault::GrowsForEver));
    });
}

/// Long examples without a score pad those that have one, and none without a score is a try of anything.
#[test]
fn what_is_not_scored_takes_room_and_proves_nothing() {
    alone(|| {
        warm();
        let setup = setup(&[LARGER, &[(Key::Lanes, "token_weighted")]].concat());
        let mut unscored = corpus(&setup);
        for example in &mut unscored.examples {
            if example.length() > 32 {
                example.labels.fill(microbatch_lab::batch::IGNORE_INDEX);
            }
        }
        let go_on = async |_| true;
        let found = |corpus: &_| block_on(fit(&Device::flex(), &setup, corpus, 6 * MIB, &go_on)).unwrap();
        let (all, padded) = (found(&corpus(&setup)), found(&unscored));
        assert!(
            padded.split.unwrap().microbatch.abs_diff(all.split.unwrap().microbatch) <= 1,
            "{all:?} {padded:?}"
        );
        for example in &mut unscored.examples {
            example.labels.fill(microbatch_lab::batch::IGNORE_INDEX);
        }
        let nothing = block_on(fit(&Device::flex(), &setup, &unscored, 6 * MIB, &go_on));
        assert_eq!(nothing, Err(Fault::Data(DataError::NothingSupervised)));
    });
}

#[test]
fn a_fit_ends_between_two_microbatches_where_it_is_told_to() {
    alone(|| {
        let setup = setup(&[LARGER, &[(Key::Lanes, "token_weighted,full_batch")]].concat());
        let asked = RefCell::new(0);
        let go_on = async |tried: Option<FitTry>| {
            *asked.borrow_mut() += 1;
            assert_eq!(tried, None, "the first try is not done");
            *asked.borrow() < 5
        };
        let report = block_on(fit(&Device::flex(), &setup, &corpus(&setup), u64::MAX, &go_on));
        assert_eq!((report, asked.into_inner()), (Err(Fault::Stopped), 5));
    });
}

#[test]
fn where_nothing_fits_one_try_says_so() {
    alone(|| {
        let setup = setup(&[(Key::Model, "token_mlp")]);
        let report = fitted(&setup, MIB / 16);
        assert_eq!((report.split, report.tries.len()), (None, 1));
        assert!(report.tries[0].peak > MIB / 16 && !report.tries[0].fits);
    });
}
