//! `lab plan`: who is in which group, and what it is divided by.

use std::io::Write;

use crate::{args::Paths, failure::Failure, inputs};
use microbatch_lab::{
    batch::{
        Convention, EpochPlan, Example, GroupPlan, Pass, epoch_order,
        plan::{EpochStart, plan_epoch},
    },
    setup::{Named, Setup},
};

pub(crate) fn print(paths: &Paths, out: &mut impl Write) -> Result<(), Failure> {
    let (setup, corpus) = inputs::read(paths)?;
    let count = u32::try_from(corpus.examples.len()).unwrap_or(u32::MAX);
    let order = epoch_order(count, setup.shuffle.then_some(setup.seed), 0);
    let start = EpochStart {
        epoch: 0,
        first_group: 0,
    };
    let plan = plan_epoch(
        &corpus.examples,
        &order,
        setup.split,
        setup.sharding,
        setup.last_group,
        start,
    );
    summary(&setup, &plan, corpus.examples.len(), out)?;
    for group in &plan.groups {
        print_group(&setup, group, &corpus.examples, out)?;
    }
    if !plan.dropped.is_empty() {
        let ids: Vec<u32> = plan.dropped.iter().map(|id| id.0).collect();
        writeln!(out, "\nleft out of this epoch: {ids:?}")?;
    }
    Ok(())
}

fn summary(setup: &Setup, plan: &EpochPlan, examples: usize, out: &mut impl Write) -> Result<(), Failure> {
    let split = setup.split;
    let (m, a, d) = (split.microbatch, split.accumulation, split.replicas);
    writeln!(
        out,
        "m {m} x A {a} x D {d} = {} examples an update",
        split.effective_batch()
    )?;
    writeln!(
        out,
        "{examples} examples: {} groups an epoch, {} examples left out",
        plan.groups.len(),
        plan.dropped.len()
    )?;
    for &id in &setup.lanes {
        writeln!(out, "lane {}: {}", id.name(), Convention::of(id).formula)?;
    }
    Ok(())
}

fn print_group(setup: &Setup, group: &GroupPlan, examples: &[Example], out: &mut impl Write) -> Result<(), Failure> {
    let partial = if group.partial { " (partial)" } else { "" };
    let (count, tokens) = (group.examples(), group.supervised());
    writeln!(
        out,
        "\ngroup {}{partial}: {count} examples, {tokens} supervised tokens",
        group.number
    )?;
    let facts = group.facts();
    for k in &group.microbatches {
        let ids: Vec<u32> = k.ids.iter().map(|id| id.0).collect();
        let (replica, index) = (k.facts.replica, k.facts.index);
        let (supervised, padded) = (k.facts.supervised, k.padded);
        write!(
            out,
            "  replica {replica} microbatch {index}: examples {ids:?}, {supervised} supervised, {padded} padded"
        )?;
        for &id in setup
            .lanes
            .iter()
            .filter(|&&id| Convention::of(id).pass == Pass::AsSplit)
        {
            write!(
                out,
                ", {} {:.6}",
                id.name(),
                Convention::of(id).coefficient(&facts, &k.facts)
            )?;
        }
        writeln!(out)?;
    }
    for &id in setup.lanes.iter().filter(|&&id| Convention::of(id).pass == Pass::Whole) {
        let whole = group.whole(examples);
        for k in &whole.microbatches {
            let coefficient = Convention::of(id).coefficient(&whole.facts(), &k.facts);
            let (supervised, padded) = (k.facts.supervised, k.padded);
            writeln!(
                out,
                "  one pass: {supervised} supervised, {padded} padded, {} {coefficient:.6}",
                id.name()
            )?;
        }
    }
    Ok(())
}
