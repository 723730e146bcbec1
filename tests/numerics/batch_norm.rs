//! BatchNorm over the positions that hold a token: layer against goldens, network against oracle, running statistics through a run.

use burn::tensor::{Tensor, TensorData};
use microbatch_lab::{
    batch::{
        IGNORE_INDEX,
        oracle::{BatchNorm, Momentum, Numerics, batch_norm::BATCH_NORM_EPS, norm, relative_l2},
    },
    engine::{
        Advance, Device, Session,
        microbatch::Real,
        model::{batch_norm::batch_norm, layers::layer_norm},
        readback::{Readback, read},
        running::Running,
    },
    protocol::{BatchNormRow, Fault},
    setup::{Key, Setup},
};
use serde_json::Value;

use super::{
    bench::{Bench, ENGINE, assert_near},
    gradient, short_run,
    support::golden::{self, list, number, numbers, whole},
};

/// Gradients of inputs are differences of nearly equal numbers, so f32 keeps fewer digits of them.
const INPUT_GRADIENT: f64 = 1e-5;

fn bench(momentum: &str) -> Bench {
    super::bench(&[
        (Key::Model, "token_mlp"),
        (Key::BatchNorm, "yes"),
        (Key::BatchNormMomentum, momentum),
        (Key::Lengths, "list"),
        (Key::LengthList, "3,9,14,5,21"),
    ])
}

#[test]
fn gradients_and_running_statistics_equal_the_oracle() {
    for (text, momentum) in [("0.1", Momentum::Fixed(0.1)), ("cumulative", Momentum::Cumulative)] {
        let bench = bench(text);
        let mut numerics = bench.numerics(1);
        let features = bench.network.norm_features().expect("a BatchNorm");
        let mut layer = BatchNorm::new(features, BATCH_NORM_EPS, momentum);
        for ids in [0..3, 3..6, 6..9] {
            let batch = bench.batch(ids);
            assert!(batch.tokens.contains(&0), "padding must be there to have no part");
            let ours = gradient(&bench, &mut numerics, 0, &batch, 1.0);
            let expected = bench.oracle_with(Numerics::default(), &batch, 1.0, &mut layer);
            assert_near(text, &ours, &expected, ENGINE);
        }
        let mut readback = Readback::default();
        let slots = numerics.ask(&mut readback);
        let values = pollster::block_on(readback.read()).expect("read");
        numerics.answer(&values, slots);
        let row = numerics.row().expect("a BatchNorm");
        assert_eq!(row.batches, 3);
        assert_near("running mean", &row.running_mean, &layer.running_mean, ENGINE);
        assert_near("running variance", &row.running_var, &layer.running_var, ENGINE);
    }
}

#[test]
fn layer_of_the_goldens() {
    let mut compared = 0;
    for golden in golden::of_kind("batchnorm") {
        let inputs = golden.inputs();
        let rows = |key: &str| list(&inputs[key]).iter().map(numbers).collect::<Vec<_>>();
        let momentum = number(&inputs["momentum"]);
        for (name, expected) in golden.outputs().as_object().expect("modes") {
            let momentum = match name.as_str() {
                "full_momentum" | "micro_momentum" => Momentum::Fixed(momentum),
                "full_cumulative" | "micro_cumulative" => Momentum::Cumulative,
                "layernorm_control" => {
                    layer_norm_control(&rows("x"), whole(&inputs["microbatch"]) as usize, expected);
                    continue;
                }
                unknown => panic!("unknown mode {unknown}"),
            };
            assert!((number(&inputs["eps"]) - BATCH_NORM_EPS).abs() < 1e-18);
            let microbatch = if name.starts_with("micro") {
                whole(&inputs["microbatch"]) as usize
            } else {
                whole(&inputs["B"]) as usize
            };
            let what = format!("{} {name}", golden.name);
            layer(&what, &rows("x"), &rows("c"), microbatch, momentum, expected);
            compared += 1;
        }
    }
    assert!(compared > 0, "no mode was compared");
}

/// LayerNorm, in contrast, sees one position at a time: microbatches change no bit of it.
fn layer_norm_control(x: &[Vec<f64>], microbatch: usize, expected: &Value) {
    let device = Device::flex();
    let features = x[0].len();
    let outputs = |x: &[Vec<f64>]| {
        let (gain, bias) = (
            Tensor::ones([1, features], &device),
            Tensor::zeros([1, features], &device),
        );
        flat(&layer_norm(tensor(x), gain, bias))
    };
    let whole = outputs(x);
    let golden = list(&expected["output"]).iter().flat_map(numbers).collect::<Vec<f64>>();
    assert_near("layer norm", &whole, &golden, ENGINE);
    assert_eq!(expected["full_equals_micro_bitwise"], true);
    assert_eq!(x.chunks(microbatch).flat_map(outputs).collect::<Vec<f64>>(), whole);
}

fn tensor(rows: &[Vec<f64>]) -> Tensor<2> {
    #[expect(clippy::cast_possible_truncation, reason = "the device computes in f32")]
    let values: Vec<f32> = rows.concat().into_iter().map(|x| x as f32).collect();
    Tensor::from_data(TensorData::new(values, [rows.len(), rows[0].len()]), &Device::flex())
}

fn flat<const D: usize>(tensor: &Tensor<D>) -> Vec<f64> {
    let count = tensor.dims().iter().product::<usize>();
    let values = pollster::block_on(read(&tensor.clone().reshape([count]))).expect("read");
    values.into_iter().map(f64::from).collect()
}

fn add(sum: &mut [f64], more: &[f64]) {
    sum.iter_mut().zip(more).for_each(|(sum, x)| *sum += x);
}

fn layer(what: &str, x: &[Vec<f64>], c: &[Vec<f64>], microbatch: usize, momentum: Momentum, expected: &Value) {
    let device = Device::flex();
    let features = x[0].len();
    let mut running = Running::new(momentum, features, &device);
    let (mut outputs, mut inputs) = (Vec::new(), Vec::new());
    let (mut weights, mut biases) = (vec![0.0; features], vec![0.0; features]);
    let steps = list(&expected["running_after_each"]);
    for ((x, c), step) in x.chunks(microbatch).zip(c.chunks(microbatch)).zip(steps) {
        let leaf = |tensor: Tensor<2>| tensor.autodiff().require_grad();
        let x = leaf(tensor(x));
        let (weight, bias) = (
            leaf(Tensor::ones([1, features], &device)),
            leaf(Tensor::zeros([1, features], &device)),
        );
        let real = Real::new(&device, vec![true; microbatch]);
        let (y, statistics) = batch_norm(x.clone(), weight.clone(), bias.clone(), &real);
        running.follow(&statistics);
        assert_near(what, &flat(running.mean()), &numbers(&step["running_mean"]), ENGINE);
        assert_near(what, &flat(running.variance()), &numbers(&step["running_var"]), ENGINE);
        outputs.extend(flat(&y.clone().without_autodiff()));
        // The loss is the sum of c times the output.
        let mut gradients = (y * tensor(c)).sum().backward();
        let mut gradient = |leaf: &Tensor<2>| flat(&leaf.grad_remove(&mut gradients).expect("a leaf"));
        inputs.extend(gradient(&x));
        add(&mut weights, &gradient(&weight));
        add(&mut biases, &gradient(&bias));
    }
    assert_eq!(running.batches(), u64::from(whole(&expected["num_batches_tracked"])));
    let rows = |key: &str| list(&expected[key]).iter().flat_map(numbers).collect::<Vec<f64>>();
    assert_near(what, &outputs, &rows("output_train"), ENGINE);
    let error = relative_l2(&inputs, &rows("grad_x"));
    if microbatch == 2 {
        // Every input gradient cancels; it is compared absolutely, against gradients of the outputs of order 1.
        let difference: Vec<f64> = inputs.iter().zip(rows("grad_x")).map(|(a, b)| a - b).collect();
        assert!(
            norm(&difference) <= INPUT_GRADIENT,
            "{what}: input gradients {:e}",
            norm(&difference)
        );
    } else {
        assert!(error <= INPUT_GRADIENT, "{what}: input gradients {error:e}");
    }
    assert_near(what, &weights, &numbers(&expected["grad_weight"]), INPUT_GRADIENT);
    assert_near(what, &biases, &numbers(&expected["grad_bias"]), ENGINE);
}

fn run(setup: &Setup, prepare: impl FnOnce(&mut Session)) -> Vec<BatchNormRow> {
    let mut session = Session::new(&Device::flex(), setup, short_run::corpus(setup)).unwrap();
    prepare(&mut session);
    let rows = pollster::block_on(short_run::rows(&mut session));
    let of = |lane: &microbatch_lab::protocol::LaneRow| lane.batch_norm.clone().expect("a BatchNorm");
    rows.last().expect("a group").lanes.iter().map(of).collect()
}

const MLP: [(Key, &str); 3] = [(Key::Model, "token_mlp"), (Key::BatchNorm, "yes"), (Key::Budget, "1")];

#[test]
fn a_run_reports_what_its_first_replica_has_seen() {
    let setup = short_run::setup(
        &[
            &MLP[..],
            &[(Key::Lanes, "token_weighted,full_batch"), (Key::Shuffle, "no")],
        ]
        .concat(),
    );
    let [split, full] = <[BatchNormRow; 2]>::try_from(run(&setup, |_| {})).expect("two lanes");
    let a = u64::from(setup.split.accumulation.get());
    assert_eq!((split.batches, full.batches), (a, 1));
    assert!(
        relative_l2(&split.running_var, &full.running_var) > 1e-3,
        "statistics of another batch"
    );

    let bench = super::bench(&[&MLP[..], &[(Key::Shuffle, "no")]].concat());
    let mut layer = BatchNorm::new(split.running_mean.len(), BATCH_NORM_EPS, Momentum::Fixed(0.1));
    let every = u32::try_from(setup.split.effective_batch()).unwrap();
    bench.oracle_with(Numerics::default(), &bench.batch(0..every), 1.0, &mut layer);
    assert_near("mean", &full.running_mean, &layer.running_mean, ENGINE);
    assert_near("variance", &full.running_var, &layer.running_var, ENGINE);
}

/// In a loop it is the forward that moves running statistics, whether anything is scored or not.
#[test]
fn a_microbatch_without_a_supervised_token_moves_running_statistics() {
    let setup = short_run::setup(&[&MLP[..], &[(Key::Shuffle, "no")]].concat());
    let corpus = short_run::corpus(&setup);
    let mut masked = corpus.clone();
    let m = setup.split.microbatch.get() as usize;
    masked.examples[..m]
        .iter_mut()
        .for_each(|e| e.labels.fill(IGNORE_INDEX));
    let rows = |corpus| {
        let mut session = Session::new(&Device::flex(), &setup, corpus).unwrap();
        let rows = pollster::block_on(short_run::rows(&mut session));
        let lane = rows[0].lanes[0].clone();
        (lane.loss.supervised, lane.batch_norm.expect("a BatchNorm"))
    };
    let (whole, masked) = (rows(corpus), rows(masked));
    assert!(masked.0 < whole.0);
    assert_eq!(masked.1, whole.1);
}

#[test]
fn a_microbatch_of_one_position_is_refused_before_anything_is_computed() {
    let single = [
        (Key::Microbatch, "1"),
        (Key::Data, "two_sources"),
        (Key::Lengths, "list"),
        (Key::LengthList, "3,1"),
    ];
    let setup = short_run::setup(&[&MLP[..], &single[..]].concat());
    let mut session = Session::new(&Device::flex(), &setup, short_run::corpus(&setup)).unwrap();
    assert_eq!(
        pollster::block_on(session.advance(false)).map(|advance| matches!(advance, Advance::Began(_))),
        Err(Fault::BatchNormNeedsTwo)
    );
}
