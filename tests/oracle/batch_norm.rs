//! Batch normalisation of one batch against microbatches.

use microbatch_lab::batch::oracle::{
    BatchNorm, Momentum,
    batch_norm::{BatchNormGradient, TooFewRows},
    norm,
};
use serde_json::Value;

use super::{
    assert_same,
    support::golden::{self, list, number, numbers, whole},
};

/// Gradients of inputs are differences of nearly equal numbers.
const INPUT_GRADIENT_TOLERANCE: f64 = 1e-10;

fn rows(value: &Value) -> Vec<Vec<f64>> {
    list(value).iter().map(numbers).collect()
}

#[test]
fn batch_and_microbatches() {
    for golden in golden::of_kind("batchnorm") {
        let inputs = golden.inputs();
        let (x, c) = (rows(&inputs["x"]), rows(&inputs["c"]));
        assert_eq!((&inputs["weight"], &inputs["bias"]), (&"ones".into(), &"zeros".into()));
        for (name, expected) in golden.outputs().as_object().expect("modes") {
            let microbatch = if name.starts_with("micro") {
                whole(&inputs["microbatch"]) as usize
            } else {
                x.len()
            };
            let momentum = match name.as_str() {
                "full_momentum" | "micro_momentum" => Momentum::Fixed(number(&inputs["momentum"])),
                "full_cumulative" | "micro_cumulative" => Momentum::Cumulative,
                // The lab's layer normalisation is in its transformer, which has no golden of its own.
                "layernorm_control" => continue,
                unknown => panic!("unknown mode {unknown}"),
            };
            let what = format!("{} {name}", golden.name);
            let mut layer = BatchNorm::new(whole(&inputs["features"]) as usize, number(&inputs["eps"]), momentum);
            check(&mut layer, &x, &c, microbatch, expected, &what);
        }
    }
}

fn check(layer: &mut BatchNorm, x: &[Vec<f64>], c: &[Vec<f64>], microbatch: usize, expected: &Value, what: &str) {
    let features = layer.weight.len();
    let mut output = Vec::new();
    let mut total = BatchNormGradient {
        input: Vec::new(),
        weight: vec![0.0; features],
        bias: vec![0.0; features],
    };
    let steps = list(&expected["running_after_each"]);
    assert_eq!(steps.len(), x.len().div_ceil(microbatch), "{what}");
    for ((x, c), running) in x.chunks(microbatch).zip(c.chunks(microbatch)).zip(steps) {
        let pass = layer.train(x).expect("rows enough");
        // The loss is the sum of c times the output.
        let gradient = layer.backward(&pass, c);
        output.extend(pass.output);
        total.input.extend(gradient.input);
        for f in 0..features {
            total.weight[f] += gradient.weight[f];
            total.bias[f] += gradient.bias[f];
        }
        assert_same(&layer.running_mean, &numbers(&running["running_mean"]), what);
        assert_same(&layer.running_var, &numbers(&running["running_var"]), what);
    }
    assert_eq!(
        layer.batches,
        u64::from(whole(&expected["num_batches_tracked"])),
        "{what}"
    );
    assert_same(&output.concat(), &rows(&expected["output_train"]).concat(), what);
    assert_same(
        &layer.evaluate(x).concat(),
        &rows(&expected["output_eval_afterwards"]).concat(),
        what,
    );
    assert_same(&layer.running_mean, &numbers(&expected["running_mean"]), what);
    assert_same(&layer.running_var, &numbers(&expected["running_var"]), what);
    assert_same(&total.bias, &numbers(&expected["grad_bias"]), what);
    let (ours, golden) = (total.input.concat(), rows(&expected["grad_x"]).concat());
    let apart = |ours: &[f64], golden: &[f64]| ours.iter().zip(golden).map(|(a, b)| a - b).collect::<Vec<f64>>();
    // With two rows every gradient cancels: it is compared absolutely, against gradients of the outputs of order 1.
    let scale = if microbatch == 2 { 1.0 } else { norm(&golden) };
    assert!(
        norm(&apart(&ours, &golden)) <= INPUT_GRADIENT_TOLERANCE * scale,
        "{what}: gradient of inputs"
    );
    assert!(
        norm(&apart(&total.weight, &numbers(&expected["grad_weight"]))) <= INPUT_GRADIENT_TOLERANCE,
        "{what}: weight"
    );
}

#[test]
fn microbatches_of_one_are_refused_and_of_two_say_nothing_about_the_data() {
    let mut layer = BatchNorm::new(2, 1e-5, Momentum::Cumulative);
    assert_eq!(layer.train(&[vec![1.0, 2.0]]), Err(TooFewRows { rows: 1 }));
    let pass = layer.train(&[vec![1.0, 30.0], vec![2.0, -7.0]]).expect("two rows");
    for (row, signs) in pass.output.iter().zip([[-1.0, 1.0], [1.0, -1.0]]) {
        assert!(
            row.iter().zip(signs).all(|(x, sign)| (x - sign).abs() < 1e-4),
            "{row:?}"
        );
    }
}

/// The gradient of sum(c * output) by central differences, through the batch's own statistics.
#[test]
fn gradients_agree_with_finite_differences() {
    let x = vec![vec![0.3, -1.2], vec![1.1, 0.4], vec![-0.7, 0.9]];
    let c = vec![vec![0.5, -0.25], vec![-1.0, 0.75], vec![0.3, 0.6]];
    let mut layer = BatchNorm::new(2, 1e-5, Momentum::Fixed(0.1));
    (layer.weight, layer.bias) = (vec![1.5, -0.5], vec![0.2, 0.1]);
    let loss = |layer: &BatchNorm, x: &[Vec<f64>]| {
        let output = layer.clone().train(x).expect("rows enough").output;
        output.concat().iter().zip(c.concat()).map(|(y, c)| y * c).sum::<f64>()
    };
    let pass = layer.clone().train(&x).expect("rows enough");
    let gradient = layer.backward(&pass, &c);
    let h = 1e-5;
    let close =
        |difference: f64, gradient: f64| assert!((difference - gradient).abs() < 1e-8, "{difference} {gradient}");
    for i in 0..x.len() {
        for f in 0..2 {
            let moved = |by: f64| {
                let mut x = x.clone();
                x[i][f] += by;
                x
            };
            close(
                (loss(&layer, &moved(h)) - loss(&layer, &moved(-h))) / (2.0 * h),
                gradient.input[i][f],
            );
        }
    }
    for f in 0..2 {
        let weight = |by: f64| {
            let mut layer = layer.clone();
            layer.weight[f] += by;
            layer
        };
        close(
            (loss(&weight(h), &x) - loss(&weight(-h), &x)) / (2.0 * h),
            gradient.weight[f],
        );
        let bias = |by: f64| {
            let mut layer = layer.clone();
            layer.bias[f] += by;
            layer
        };
        close((loss(&bias(h), &x) - loss(&bias(-h), &x)) / (2.0 * h), gradient.bias[f]);
    }
}
