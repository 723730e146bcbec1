//! How long an update and a probe take on the CPU device, natively. `cargo bench --bench engine --features engine`.

#[path = "../src/bin/bench/work.rs"]
mod work;

use divan::Bencher;
use microbatch_lab::{
    data,
    engine::{Advance, Device, Session},
    protocol::FullBatch,
    setup::{Draft, Key, parse::parse},
};
use pollster::block_on;
use work::{WORKS, Work};

fn main() {
    divan::main();
}

fn given(name: &str) -> Option<Session> {
    let work = Work::named(name)?;
    let (start, examples) = (work.start().flatten().collect(), work.batches(1).flatten().collect());
    let fixture = work.fixture(start, examples, "token_weighted")?;
    Session::of_fixture(&Device::flex(), fixture).ok()
}

fn default_experiment() -> Option<Session> {
    let draft = Draft::default().with(Key::Budget, "1000000");
    let setup = parse(&draft.with(Key::Lanes, "token_weighted")).ok()?;
    let corpus = data::build(&setup, None).ok()?;
    Session::new(&Device::flex(), &setup, corpus).ok()
}

fn update(session: &mut Session) {
    while matches!(
        block_on(session.advance(false)),
        Ok(Advance::Began(_) | Advance::Microbatch(_))
    ) {}
}

/// One update of what is compared.
#[divan::bench(args = WORKS.map(|work| work.name), sample_count = 12, sample_size = 1)]
fn update_of(bencher: Bencher, name: &str) {
    if let Some(mut session) = given(name) {
        bencher.bench_local(|| update(&mut session));
    }
}

/// One update of the default experiment with one lane.
#[divan::bench]
fn update_of_one_convention(bencher: Bencher) {
    if let Some(mut session) = default_experiment() {
        bencher.bench_local(|| update(&mut session));
    }
}

/// All conventions at the parameters of that lane.
#[divan::bench]
fn probe_of_all_conventions(bencher: Bencher) {
    if let Some(session) = default_experiment() {
        bencher.bench_local(|| block_on(session.probe(FullBatch::AsSum)));
    }
}
