//! `lab plan`: who is in which group, and what it is divided by.

use std::io::Write;

use crate::{args::Paths, failure::Failure, inputs};
use microbatch_lab::{
    batch::{
        EpochPlan, Example, GroupPlan, LaneRule, Pass, epoch_order,
        order::padded_to_replicas,
        plan::{EpochStart, plan_epoch},
    },
    setup::{Setup, lane_name},
};

pub(crate) fn print(paths: &Paths, out: &mut impl Write) -> Result<(), Failure> {
    let (setup, corpus) = inputs::read(paths)?;
    let count = u32::try_from(corpus.examples.len()).unwrap_or(u32::MAX);
    let mut order = epoch_order(count, setup.shuffle.then_some(setup.seed), 0);
    if setup.sampler_padding {
        order = padded_to_replicas(order, setup.split.replicas.get());
    }
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
    for &rule in &setup.lanes {
        writeln!(out, "lane {}: {}", lane_name(rule), rule.convention().formula)?;
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
        for &rule in of_pass(setup, Pass::AsSplit) {
            let coefficient = rule.convention().coefficient(&facts, &k.facts);
            write!(out, ", {} {coefficient:.6}", lane_name(rule))?;
        }
        writeln!(out)?;
    }
    for &rule in of_pass(setup, Pass::Whole) {
        let whole = group.whole(examples);
        for k in &whole.microbatches {
            let coefficient = rule.convention().coefficient(&whole.facts(), &k.facts);
            let (supervised, padded) = (k.facts.supervised, k.padded);
            writeln!(
                out,
                "  one pass: {supervised} supervised, {padded} padded, {} {coefficient:.6}",
                lane_name(rule)
            )?;
        }
    }
    Ok(())
}

fn of_pass(setup: &Setup, pass: Pass) -> impl Iterator<Item = &LaneRule> {
    setup.lanes.iter().filter(move |rule| rule.convention().pass == pass)
}
