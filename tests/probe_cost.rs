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
    protocol::FullBatch,
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

/// Least times, in milliseconds, of a probe without and with the full batch in one pass, of a whole group of one lane, and of one of that
/// lane with the full batch in one pass beside it. In turns: other work on the machine only ever adds.
fn least_times(changes: &[(Key, &str)]) -> [f64; 4] {
    let mut one = session(changes, "token_weighted");
    let mut two = session(changes, "token_weighted,full_batch");
    let mut least = [f64::INFINITY; 4];
    let timed = |session: &mut Session| {
        let began = std::time::Instant::now();
        train_one_group(session);
        began.elapsed().as_secs_f64() * 1e3
    };
    for _ in 0..60 {
        let [sum, pass] = [FullBatch::AsSum, FullBatch::InOnePass].map(|of| block_on(one.probe(of)).unwrap());
        // 64 microbatches whose tokens all weigh the same, and the full batch.
        assert_eq!((sum.backwards, pass.backwards), (64, 65));
        let times = [sum.elapsed_ms, pass.elapsed_ms, timed(&mut one), timed(&mut two)];
        for (least, time) in least.iter_mut().zip(times) {
            *least = least.min(time);
        }
    }
    let [sum, pass, group, both] = least;
    println!(
        "{changes:?}: probe {sum:.2} ms, {:.3} of a group; with the full batch {pass:.2} ms, {:.3} of a group with it",
        sum / group,
        pass / both
    );
    least
}

/// All conventions cost next to nothing on top of the microbatches, and of the full batch in one pass where that is asked for, which has as
/// much arithmetic as all microbatches together.
#[test]
fn a_probe_costs_little_more_than_a_group_and_the_full_batch() {
    let short = [
        (Key::Model, "token_mlp"),
        (Key::Data, "two_sources"),
        (Key::Lengths, "list"),
        (Key::LengthList, "2,3"),
    ];
    for changes in [&short[..], &[(Key::Model, "token_mlp")], &[(Key::Model, "transformer")]] {
        let [sum, pass, group, both] = least_times(changes);
        // Tests optimise nothing but the kernels, so what is done around them counts for more here than in a browser, where
        // `cargo xtask bench` holds the first of these to 1.15. One pass more than there must be would be at least another 1.
        assert!(
            sum <= 2.0 * group && pass <= 1.5 * both,
            "{changes:?}: probe {sum:.2} ms, group {group:.2} ms; both with the full batch {pass:.2} ms and {both:.2} ms"
        );
    }
}
