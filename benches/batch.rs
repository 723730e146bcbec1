//! How long a plan and its coefficients take. `cargo bench --bench batch`.

use divan::{Bencher, black_box};
use microbatch_lab::{
    batch::{
        EpochPlan, LastGroup,
        convention::TABLE,
        epoch_order,
        plan::{EpochStart, plan_epoch},
    },
    data,
    setup::{Draft, Key, parse::parse},
};

fn main() {
    divan::main();
}

/// One epoch of the default experiment with so many examples.
fn epoch(examples: u32) -> Option<impl Fn() -> EpochPlan> {
    let setup = parse(&Draft::default().with(Key::Examples, examples.to_string())).ok()?;
    let corpus = data::build(&setup, None).ok()?;
    Some(move || {
        let order = epoch_order(examples, Some(setup.seed), 0);
        let start = EpochStart {
            epoch: 0,
            first_group: 0,
        };
        plan_epoch(
            &corpus.examples,
            &order,
            setup.split,
            setup.sharding,
            LastGroup::Process,
            start,
        )
    })
}

/// Order and plan of an epoch.
#[divan::bench(args = [240, 20_000])]
fn plan(bencher: Bencher, examples: u32) {
    if let Some(plan) = epoch(examples) {
        bencher.bench(plan);
    }
}

/// The coefficients of all microbatches of an epoch, by every convention.
#[divan::bench(args = [240, 20_000])]
fn coefficients(bencher: Bencher, examples: u32) {
    let Some(plan) = epoch(examples).map(|plan| plan()) else {
        return;
    };
    bencher.bench(|| {
        let mut sum = 0.0;
        for group in &plan.groups {
            let facts = group.facts();
            for convention in TABLE {
                for k in &facts.microbatches {
                    sum += convention.coefficient(black_box(&facts), k);
                }
            }
        }
        sum
    });
}
