//! All conventions at one point: against plain f64, against PyTorch, and without a trace in the run.
#![cfg(all(not(target_arch = "wasm32"), feature = "engine"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a broken premise must fail its test at once"
)]

#[path = "support/golden.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    clippy::missing_panics_doc,
    reason = "other tests use the rest"
)]
mod golden;
#[path = "support/reference.rs"]
#[allow(dead_code, reason = "other tests use it")]
mod reference;
#[path = "probe/run.rs"]
mod run;
#[path = "support/short_run.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod short_run;

use burn::tensor::{Tensor, TensorData};
use golden::{Case, Golden, Group, Layout, number};
use microbatch_lab::{
    batch::{
        Convention, ConventionId, GroupFacts, GroupPlan, IGNORE_INDEX, MicrobatchFacts, PaddedBatch, Pass,
        TokenWeights,
        convention::TABLE,
        oracle::{Contribution, combine, cosine, norm, relative_l2, token_weights},
    },
    engine::{Advance, Device, Session, model::Network, numerics::Numerics, probe},
    protocol::{Fault, FullBatch, GroupRow, ProbeReport, ProbeRow},
    setup::{Key, Precision, Setup},
};
use pollster::block_on;
use short_run::{corpus, setup};

/// float32 against float64.
const TOLERANCE: f64 = 1e-5;

/// The same against the norm of the full batch's gradient, for distances that are nearly nothing.
const ABSOLUTE: f64 = 1e-6;

/// What a row must say, and the full batch's gradient norm that its distances are relative to.
struct Expected {
    gradient: Vec<f64>,
    loss: f64,
}

fn expected(
    network: &Network,
    parameters: &[f64],
    convention: &Convention,
    facts: &GroupFacts,
    batches: &[PaddedBatch],
) -> Expected {
    let contributions: Vec<Contribution> = batches
        .iter()
        .map(|batch| {
            let weights = token_weights(convention.token_weights, batch);
            let (losses, gradient) = reference::gradient(network, parameters, batch, &weights);
            let loss_sum = losses.iter().zip(&weights).map(|(loss, weight)| loss * weight).sum();
            Contribution { loss_sum, gradient }
        })
        .collect();
    let losses = facts.microbatches.iter().zip(&contributions);
    let loss: f64 = losses
        .map(|(k, c)| convention.backpropagated_loss(facts, k, c.loss_sum))
        .sum();
    Expected {
        gradient: combine(convention, facts, &contributions),
        loss: loss / f64::from(facts.replicas),
    }
}

fn close(what: &str, ours: f64, expected: f64, scale: f64) {
    let equal = (ours.is_nan() && expected.is_nan()) || (ours - expected).abs() <= TOLERANCE * expected.abs() + scale;
    assert!(equal, "{what}: {ours} against {expected}");
}

/// Every row of a report against plain f64.
fn equals_oracle(report: &ProbeReport, expected_of: impl Fn(&Convention) -> Expected) {
    let full = expected_of(Convention::of(ConventionId::FullBatch));
    assert_eq!(report.rows.len(), TABLE.len());
    close("full batch", report.full_batch_norm, norm(&full.gradient), 0.0);
    for (row, convention) in report.rows.iter().zip(TABLE) {
        assert_eq!(row.convention, convention.id);
        let Expected { gradient, loss } = expected_of(convention);
        let of = |what: &str| format!("{what} of {:?}", convention.id);
        close(&of("norm"), row.gradient_norm, norm(&gradient), 0.0);
        close(&of("cosine"), row.cosine, cosine(&gradient, &full.gradient), ABSOLUTE);
        close(
            &of("distance"),
            row.relative_l2,
            relative_l2(&gradient, &full.gradient),
            ABSOLUTE,
        );
        close(
            &of("ratio"),
            row.norm_ratio,
            norm(&gradient) / norm(&full.gradient),
            0.0,
        );
        close(&of("loss"), row.loss, loss, 0.0);
        close(&of("loss ratio"), row.loss_ratio, loss / full.loss, 0.0);
    }
}

fn row(report: &ProbeReport, id: ConventionId) -> ProbeRow {
    *report.rows.iter().find(|row| row.convention == id).unwrap()
}

fn probe_now(session: &Session, full_batch: FullBatch) -> Result<ProbeReport, Fault> {
    block_on(session.probe(full_batch))
}

fn probe_of_run(setup: &Setup, updates: usize) -> (ProbeReport, Session) {
    let mut session = Session::new(&Device::flex(), setup, corpus(setup)).unwrap();
    for _ in 0..updates {
        group(&mut session);
    }
    (probe_now(&session, FullBatch::InOnePass).unwrap(), session)
}

fn group(session: &mut Session) -> GroupRow {
    loop {
        if let Advance::Updated(row) = block_on(session.advance(false)).unwrap() {
            return *row;
        }
    }
}

#[test]
fn every_convention_equals_the_oracle() {
    for model in ["token_mlp", "transformer"] {
        for updates in [0, 2] {
            let setup = setup(&[(Key::Model, model), (Key::Lengths, "two_humped")]);
            let corpus = corpus(&setup);
            let network = Network::new(setup.model, corpus.vocabulary.size());
            let (report, session) = probe_of_run(&setup, updates);
            assert_eq!((report.applied_updates, report.group), (updates as u64, updates as u64));
            let parameters: Vec<f64> = block_on(session.parameters()).unwrap()[0]
                .iter()
                .map(|&x| f64::from(x))
                .collect();
            let plan = reference::plans(&setup, &corpus.examples, updates + 1).pop().unwrap();
            let whole = plan.whole(&corpus.examples);
            assert_eq!(report.supervised_tokens, plan.supervised());
            let oracle = |convention: &Convention| {
                let plan = if convention.pass == Pass::Whole { &whole } else { &plan };
                let batches: Vec<PaddedBatch> = plan
                    .microbatches
                    .iter()
                    .map(|k| PaddedBatch::of(&corpus.examples, &k.ids))
                    .collect();
                expected(&network, &parameters, convention, &plan.facts(), &batches)
            };
            equals_oracle(&report, oracle);
            let as_sum = probe_now(&session, FullBatch::AsSum).unwrap();
            equals_oracle(&as_sum, oracle);
            assert_eq!(
                (report.full_batch, as_sum.full_batch),
                (FullBatch::InOnePass, FullBatch::AsSum)
            );
            // The CPU device weighs rows in the microbatches' own backwards.
            let microbatches = plan.microbatches.len() as u64;
            assert_eq!((report.backwards, as_sum.backwards), (microbatches + 1, microbatches));
            // The third group has two microbatches on each replica, and a sum of two is the same in any order.
            let noisy = updates == 0;
            assert_eq!(report.noise_floor > 0.0, noisy, "{}", report.noise_floor);
            assert!(report.noise_floor < ABSOLUTE, "{}", report.noise_floor);
        }
    }
}

fn flat(values: &[f64], device: &Device) -> Tensor<1> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the goldens' float32 is their float64, rounded"
    )]
    let narrow: Vec<f32> = values.iter().map(|&x| x as f32).collect();
    let length = narrow.len();
    Tensor::from_data(TensorData::new(narrow, [length]), device)
}

fn probe_of_group(network: &golden::Network, group: &Group, whole: Option<&Group>, rows_apart: bool) -> ProbeReport {
    let device = Device::flex();
    let subject = probe::Subject {
        device: &device,
        network: &Network::TokenMlp(network.shape),
        parameters: &flat(&network.parameters, &device),
        split: &Numerics::default(),
        whole: &Numerics::default(),
        rows_apart,
        memory_limit: u64::MAX,
    };
    let group = probe::Group {
        facts: &group.facts,
        batches: &group.batches,
        whole: whole.map(|whole| (&whole.facts, &whole.batches[0])),
    };
    block_on(probe::probe(&subject, &group, 0)).unwrap()
}

/// What PyTorch measured of each variant, f64.
fn equals_golden(golden: &Golden, report: &ProbeReport, layout: Layout) -> usize {
    let variants = golden.outputs()["variants"].as_object().expect("has variants");
    let mut compared = 0;
    for (name, variant) in variants {
        let (id, of) = golden::variant(name);
        if of != layout && of != Layout::Whole {
            continue;
        }
        let (ours, against) = (row(report, id), &variant["vs_full_batch_f64"]);
        let of = |what: &str| format!("{}, {name}: {what}", golden.name);
        close(&of("norm"), ours.gradient_norm, number(&variant["grad_norm"]), 0.0);
        close(
            &of("distance"),
            ours.relative_l2,
            number(&against["rel_l2_error"]),
            ABSOLUTE,
        );
        close(&of("cosine"), ours.cosine, number(&against["cosine"]), ABSOLUTE);
        close(&of("ratio"), ours.norm_ratio, number(&against["norm_ratio"]), 0.0);
        if let Some(loss) = variant.get("accumulated_loss").filter(|loss| !loss.is_array()) {
            close(&of("loss"), ours.loss, number(loss), 0.0);
        }
        compared += 1;
    }
    compared
}

#[test]
fn grad_cases_come_out_as_in_pytorch() {
    let mut compared = 0;
    for golden in golden::of_kind("grad_case") {
        let (network, case) = (golden.network(), Case::of(&golden));
        let whole = case.laid_out(Layout::Whole);
        for layout in [Layout::OneProcess, Layout::Replicas] {
            for (whole, rows_apart) in [(Some(&whole), true), (Some(&whole), false), (None, true)] {
                let report = probe_of_group(&network, &case.laid_out(layout), whole, rows_apart);
                compared += equals_golden(&golden, &report, layout);
            }
        }
    }
    assert!(compared > 0, "no variant was compared");
}

/// Whether examples of one microbatch have different numbers of supervised tokens.
fn weighs_unevenly(batch: &PaddedBatch) -> bool {
    let counts = batch
        .labels
        .chunks(batch.width)
        .map(|row| row.iter().filter(|&&label| label != IGNORE_INDEX).count());
    let mut counts: Vec<usize> = counts.filter(|&count| count > 0).collect();
    counts.sort_unstable();
    counts.dedup();
    counts.len() > 1
}

#[test]
fn weights_inside_a_microbatch_come_out_the_same_in_one_pass_and_in_many() {
    for golden in golden::of_kind("grad_case") {
        let (network, case) = (golden.network(), Case::of(&golden));
        let (whole, split) = (case.laid_out(Layout::Whole), case.laid_out(Layout::Replicas));
        let [one, many] = [true, false].map(|apart| probe_of_group(&network, &split, Some(&whole), apart));
        let scored = split.facts.microbatches.iter().filter(|k| k.supervised > 0).count() as u64;
        let mixed = split.batches.iter().filter(|batch| weighs_unevenly(batch)).count() as u64;
        // Rows that are apart are weighed in the backward that is there.
        let expected = (scored + 1, scored + mixed + 1);
        assert_eq!((one.backwards, many.backwards), expected, "{}", golden.name);
        let weighted = TABLE
            .iter()
            .filter(|row| row.token_weights == TokenWeights::ExampleMean);
        for convention in weighted {
            let (one, many) = (row(&one, convention.id), row(&many, convention.id));
            close(&golden.name, one.gradient_norm, many.gradient_norm, 0.0);
            close(&golden.name, one.relative_l2, many.relative_l2, ABSOLUTE);
            close(&golden.name, one.loss, many.loss, 0.0);
        }
    }
}

#[test]
fn a_group_with_nothing_to_learn_has_no_gradient() {
    let setup = setup(&[(Key::Model, "token_mlp")]);
    let mut masked = corpus(&setup);
    for example in &mut masked.examples {
        example.labels.fill(IGNORE_INDEX);
    }
    let session = Session::new(&Device::flex(), &setup, masked).unwrap();
    let report = probe_now(&session, FullBatch::InOnePass).unwrap();
    assert_eq!((report.supervised_tokens, report.backwards), (0, 0));
    for row in &report.rows {
        assert!(
            row.gradient_norm == 0.0 && row.cosine.is_nan() && row.relative_l2 == 0.0,
            "{row:?}"
        );
    }
    assert!(row(&report, ConventionId::MeanOfMeans).loss.is_nan());
}

#[test]
fn more_gradients_than_may_be_kept_are_refused() {
    let setup = Setup {
        memory_limit: 1000,
        ..setup(&[(Key::Model, "token_mlp")])
    };
    let session = Session::new(&Device::flex(), &setup, corpus(&setup)).unwrap();
    // Of the eight microbatches seven have examples of different lengths, and so a second gradient.
    // With the full batch's all of them are copied once, side by side.
    let kept = session.facts().parameters * 4 * (8 + 7 + 1) * 2;
    assert_eq!(
        probe_now(&session, FullBatch::InOnePass),
        Err(Fault::MemoryLimit {
            in_use: kept,
            limit: 1000,
            group: 0
        })
    );
}

/// Weights of examples that are long and nearly alike make a gradient that is nearly the full batch's: what parts them is a small difference
/// of large sums, unless both are brought to one size first.
#[test]
fn a_small_distance_is_told_as_it_is() {
    let setup = setup(&[
        (Key::Model, "token_mlp"),
        (Key::Data, "two_sources"),
        (Key::Lengths, "list"),
        (Key::LengthList, "240,250,256,245"),
    ]);
    let corpus = corpus(&setup);
    let network = Network::new(setup.model, corpus.vocabulary.size());
    let session = Session::new(&Device::flex(), &setup, corpus.clone()).unwrap();
    let parameters: Vec<f64> = block_on(session.parameters()).unwrap()[0]
        .iter()
        .map(|&x| f64::from(x))
        .collect();
    let plan = reference::plans(&setup, &corpus.examples, 1).pop().unwrap();
    let of = |plan: &GroupPlan, id| {
        let batches = plan
            .microbatches
            .iter()
            .map(|k| PaddedBatch::of(&corpus.examples, &k.ids));
        let batches: Vec<PaddedBatch> = batches.collect();
        expected(&network, &parameters, Convention::of(id), &plan.facts(), &batches).gradient
    };
    let full = of(&plan.whole(&corpus.examples), ConventionId::FullBatch);
    let exact = relative_l2(&of(&plan, ConventionId::ExampleMean), &full);
    assert!(exact < 0.05, "nearly alike: {exact}");
    for full_batch in [FullBatch::AsSum, FullBatch::InOnePass] {
        let ours = row(&probe_now(&session, full_batch).unwrap(), ConventionId::ExampleMean).relative_l2;
        assert!((ours - exact).abs() <= 1e-3 * exact, "{ours} against {exact}");
    }
}

/// A convention that multiplied microbatches differently would need each microbatch's own weighted gradient; none of the table's does.
#[test]
fn one_pass_is_used_only_where_all_are_multiplied_alike() {
    let microbatch = |index, supervised| MicrobatchFacts {
        replica: 0,
        index,
        examples: 2,
        scored_examples: 2,
        supervised,
        positions: 2 * supervised,
        unpadded: supervised,
    };
    let facts = GroupFacts {
        replicas: 1,
        nominal_accumulation: 3,
        microbatches: vec![microbatch(0, 3), microbatch(1, 0), microbatch(2, 8)],
    };
    for convention in TABLE.iter().filter(|row| row.token_weights != TokenWeights::Uniform) {
        let scored = facts.microbatches.iter().filter(|k| k.supervised > 0);
        let mut of: Vec<u64> = scored.map(|k| convention.coefficient(&facts, k).to_bits()).collect();
        of.dedup();
        assert_eq!(of.len(), 1, "{:?}", convention.id);
    }
}

#[test]
fn where_nothing_counts_bytes_none_are_told() {
    let setup = setup(&[(Key::Model, "token_mlp")]);
    let mut session = Session::new(&Device::flex(), &setup, corpus(&setup)).unwrap();
    assert_eq!((session.facts().memory, group(&mut session).memory), (None, None));
    let go_on = async |_| panic!("nothing can be tried");
    let report = block_on(microbatch_lab::engine::fit(
        &Device::flex(),
        &setup,
        &corpus(&setup),
        1 << 20,
        &go_on,
    ));
    assert_eq!(report, Err(Fault::MemoryNotMeasured));
}
