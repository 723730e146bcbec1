//! What a probe costs, alone in its process.
#![cfg(all(not(target_arch = "wasm32"), feature = "engine"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a broken premise must fail its test at once"
)]

#[path = "support/reference.rs"]
#[allow(dead_code, reason = "other tests use it")]
mod reference;
#[path = "support/short_run.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod short_run;

use microbatch_lab::{
    engine::{Advance, Device, Session},
    setup::Key,
};
use pollster::block_on;
use short_run::{corpus, setup};

fn train_one_group(session: &mut Session) {
    while !matches!(block_on(session.advance(false)).unwrap(), Advance::Updated(_)) {}
}

/// Many microbatches of one example each.
const MANY: &[(Key, &str)] = &[
    (Key::Microbatch, "1"),
    (Key::Accumulation, "32"),
    (Key::Replicas, "2"),
    (Key::Examples, "64"),
    (Key::Budget, "100"),
];

fn session(changes: &[(Key, &str)], lanes: &str) -> Session {
    let setup = setup(&[MANY, changes, &[(Key::Lanes, lanes)]].concat());
    Session::new(&Device::flex(), &setup, corpus(&setup)).unwrap()
}

/// Least times, in milliseconds, of a probe, of a whole group of one lane, and of one of that lane with the full batch in one pass beside
/// it. In turns: other work on the machine only ever adds.
fn least_times(changes: &[(Key, &str)]) -> [f64; 3] {
    let mut one = session(changes, "token_weighted");
    let mut two = session(changes, "token_weighted,full_batch");
    let mut least = [f64::INFINITY; 3];
    let timed = |session: &mut Session| {
        let began = std::time::Instant::now();
        train_one_group(session);
        began.elapsed().as_secs_f64() * 1e3
    };
    for _ in 0..60 {
        let report = block_on(one.probe()).unwrap();
        // 64 microbatches whose tokens all weigh the same, and the full batch.
        assert_eq!(report.backwards, 65);
        let times = [report.elapsed_ms, timed(&mut one), timed(&mut two)];
        for (least, time) in least.iter_mut().zip(times) {
            *least = least.min(time);
        }
    }
    let [probe, group, both] = least;
    println!(
        "{changes:?}: probe {probe:.2} ms, {:.3} of a group, {:.3} with the full batch",
        probe / group,
        probe / both
    );
    least
}

/// All conventions cost next to nothing on top of the microbatches and the full batch in one pass, which has as much arithmetic as all
/// microbatches together.
#[test]
fn a_probe_costs_little_more_than_a_group_and_the_full_batch() {
    let short = [
        (Key::Model, "token_mlp"),
        (Key::Data, "two_sources"),
        (Key::Lengths, "list"),
        (Key::LengthList, "2,3"),
    ];
    for changes in [&short[..], &[(Key::Model, "token_mlp")], &[(Key::Model, "transformer")]] {
        let [probe, group, both] = least_times(changes);
        assert!(
            probe <= 1.3 * both,
            "{changes:?}: probe {probe:.2} ms, group {group:.2} ms, group and full batch {both:.2} ms"
        );
    }
}
