//! A run that is given: what the bench page trains equals what others train from the same numbers, and what cannot be trained is refused.

#![cfg(all(not(target_arch = "wasm32"), feature = "engine"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a broken premise must fail its test at once"
)]

#[path = "../src/bin/bench/work.rs"]
mod work;

use microbatch_lab::{
    engine::{Advance, Device, Session},
    protocol::{Fault, Fixture},
};
use pollster::block_on;
use work::{WORKS, Work};

/// Losses of W0 as plain C computes them in float32: `bench/w0-losses.json`, 6 decimals.
const REFERENCE: &str = include_str!("../bench/w0-losses.json");

/// Float noise of a training in float32; other work differs by more.
const LOSS: f64 = 1e-5;

fn given(work: Work, updates: u32) -> Fixture {
    let (start, examples) = (
        work.start().flatten().collect(),
        work.batches(updates).flatten().collect(),
    );
    work.fixture(start, examples, "token_weighted").unwrap()
}

fn w0(updates: u32) -> Fixture {
    given(Work::named("W0").unwrap(), updates)
}

#[test]
fn losses_are_those_of_the_reference() {
    let reference: Vec<f64> = serde_json::from_str(REFERENCE).unwrap();
    let mut session = Session::of_fixture(&Device::flex(), w0(15)).unwrap();
    let mut losses = Vec::new();
    while losses.len() < reference.len() {
        if let Advance::Updated(row) = block_on(session.advance(false)).unwrap() {
            losses.push(row.lanes[0].loss.token_weighted().unwrap());
        }
    }
    let error = losses.iter().zip(&reference).map(|(a, b)| (a - b).abs());
    let error = error.fold(0.0, f64::max);
    assert!(error <= LOSS, "{error:e}: {losses:?} against {reference:?}");
}

/// Whoever is compared computes every position of every microbatch, so the product must, too.
#[test]
fn no_position_may_be_left_out() {
    for work in WORKS {
        let fixture = given(work, 2);
        let split = fixture.setup.split;
        let group = split.microbatch.get() * split.accumulation.get() * split.replicas.get();
        assert_eq!(fixture.examples.len(), 2 * group as usize, "{}", work.name);
        let context = fixture.examples[0].length();
        for example in &fixture.examples {
            assert_eq!(example.length(), context);
            assert!(example.tokens.iter().all(|&token| token > 0), "{}", work.name);
            let supervised = usize::try_from(example.supervised()).unwrap();
            assert!((context / 4..=context).contains(&supervised), "{}", work.name);
        }
    }
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let refused = |change: fn(&mut Fixture)| {
        let mut fixture = w0(1);
        change(&mut fixture);
        matches!(
            Session::of_fixture(&Device::flex(), fixture),
            Err(Fault::Unreachable { .. })
        )
    };
    assert!(!refused(|_| {}));
    assert!(refused(|fixture| fixture.start.truncate(7)));
    assert!(refused(|fixture| fixture.examples.swap(0, 1)));
    assert!(refused(|fixture| fixture.examples[2].tokens[0] = 64));
    assert!(refused(|fixture| fixture.examples[2].labels[0] = 64));
    assert!(refused(|fixture| fixture.examples[2].labels[0] = -1));
    assert!(refused(|fixture| fixture.examples[2].labels.truncate(1)));
}
