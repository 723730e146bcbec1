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

/// Least times of a probe and of a whole group of one lane, in milliseconds, in turns: other work on the machine only ever adds.
fn least_times(changes: &[(Key, &str)]) -> [f64; 2] {
    let many = [
        (Key::Microbatch, "1"),
        (Key::Accumulation, "32"),
        (Key::Replicas, "2"),
        (Key::Examples, "64"),
        (Key::Lanes, "token_weighted"),
        (Key::Budget, "100"),
    ];
    let setup = setup(&[&many, changes].concat());
    let mut session = Session::new(&Device::flex(), &setup, corpus(&setup)).unwrap();
    let mut least = [f64::INFINITY; 2];
    for _ in 0..20 {
        let report = block_on(session.probe()).unwrap();
        // 64 microbatches of one example each, whose tokens all weigh the same, and the full batch.
        assert_eq!(report.backwards, 65);
        let began = std::time::Instant::now();
        train_one_group(&mut session);
        let [probed, trained] = &mut least;
        *probed = probed.min(report.elapsed_ms);
        *trained = trained.min(began.elapsed().as_secs_f64() * 1e3);
    }
    println!(
        "{changes:?}: probe {:.2} ms, group {:.2} ms, ratio {:.3}",
        least[0],
        least[1],
        least[0] / least[1]
    );
    least
}

/// Where launches are what takes time, as in small microbatches, the full batch in one pass is nearly free. Where arithmetic is, it
/// costs as much as all microbatches together, and nothing can make it cheaper.
#[test]
fn a_probe_costs_little_more_than_a_group() {
    let [probed, trained] = least_times(&[(Key::Model, "token_mlp")]);
    assert!(probed <= 1.3 * trained, "probe {probed:.2} ms, group {trained:.2} ms");
    let [probed, trained] = least_times(&[(Key::Model, "transformer")]);
    assert!(probed <= 2.3 * trained, "probe {probed:.2} ms, group {trained:.2} ms");
}
