//! Every kernel against the same sums in f64, at sizes that fill registers and at sizes that do not.
#![allow(clippy::expect_used, reason = "a broken premise must fail its test at once")]

use microbatch_kernels::{
    Scratch,
    attention::{self, Heads},
    compare, embedding, layer_norm,
    linear::{self, Share, Slope, Target, Then, Weight},
    loss, optimizer,
};

/// Of numbers about 1 in size, summed over at most a few hundred terms.
const TOLERANCE: f64 = 2e-5;

const SIZES: &[(usize, usize, usize)] = &[(1, 1, 1), (5, 3, 7), (9, 20, 13), (4, 8, 8), (600, 12, 6), (33, 64, 27)];

fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 8_388_608.0 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn wide(x: f32) -> f64 {
    f64::from(x)
}

#[track_caller]
fn close(name: &str, ours: &[f32], exact: &[f64]) {
    assert_eq!(ours.len(), exact.len(), "{name}");
    for (i, (&ours, &exact)) in ours.iter().zip(exact).enumerate() {
        let apart = (wide(ours) - exact).abs();
        assert!(
            apart <= TOLERANCE * (1.0 + exact.abs()),
            "{name}[{i}]: {ours} against {exact}"
        );
    }
}

/// rows x inner times inner x columns, by what gives an entry.
fn product(
    rows: usize,
    inner: usize,
    columns: usize,
    a: impl Fn(usize, usize) -> f64,
    b: impl Fn(usize, usize) -> f64,
) -> Vec<f64> {
    let entry = |i: usize, j: usize| (0..inner).map(|k| a(i, k) * b(k, j)).sum();
    (0..rows * columns)
        .map(|at| entry(at / columns, at % columns))
        .collect()
}

struct Layer {
    rows: usize,
    inputs: usize,
    outputs: usize,
    by_output: bool,
    x: Vec<f32>,
    weight: Vec<f32>,
    bias: Vec<f32>,
    d_y: Vec<f32>,
    other: Vec<f32>,
}

fn layers() -> impl Iterator<Item = Layer> {
    let both = SIZES.iter().flat_map(|&sizes| [(sizes, true), (sizes, false)]);
    both.map(|((rows, inputs, outputs), by_output)| Layer {
        rows,
        inputs,
        outputs,
        by_output,
        x: numbers(rows * inputs, 1),
        weight: numbers(inputs * outputs, 2),
        bias: numbers(outputs, 3),
        d_y: numbers(rows * outputs, 4),
        other: numbers(rows * inputs.max(outputs), 5),
    })
}

impl Layer {
    fn weight(&self) -> Weight<'_> {
        Weight {
            data: &self.weight,
            inputs: self.inputs,
            outputs: self.outputs,
            by_output: self.by_output,
        }
    }

    fn at(&self, input: usize, output: usize) -> f64 {
        wide(if self.by_output {
            self.weight[output * self.inputs + input]
        } else {
            self.weight[input * self.outputs + output]
        })
    }

    fn sums(&self) -> Vec<f64> {
        let x = |i: usize, k: usize| wide(self.x[i * self.inputs + k]);
        let sums = product(self.rows, self.inputs, self.outputs, x, |k, j| self.at(k, j));
        let biased = sums
            .iter()
            .enumerate()
            .map(|(at, sum)| sum + wide(self.bias[at % self.outputs]));
        biased.collect()
    }
}

#[test]
fn linear_forward() {
    for layer in layers() {
        let mut scratch = Scratch::default();
        let sums = layer.sums();
        let count = sums.len();
        let mut out = vec![f32::NAN; count];
        let mut run = |then: Then| {
            out.fill(f32::NAN);
            linear::forward(
                &layer.x,
                layer.weight(),
                Some(&layer.bias),
                then,
                &mut out,
                &mut scratch,
            );
            out.clone()
        };
        close("keep", &run(Then::Keep), &sums);
        let added: Vec<f64> = sums
            .iter()
            .zip(&layer.other)
            .map(|(sum, &other)| sum + wide(other))
            .collect();
        close("add", &run(Then::Add(&layer.other[..count])), &added);
        close(
            "tanh",
            &run(Then::Tanh),
            &sums.iter().map(|sum| sum.tanh()).collect::<Vec<_>>(),
        );
        let mut active = vec![f32::NAN; count];
        let slopes = run(Then::Gelu(&mut active));
        let gelu = |x: f64| 0.5 * x * (1.0 + erf(x / 2f64.sqrt()));
        close("gelu", &active, &sums.iter().map(|&x| gelu(x)).collect::<Vec<_>>());
        let bell = |x: f64| (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let slope = |x: f64| 0.5 * (1.0 + erf(x / 2f64.sqrt())) + x * bell(x);
        close("slope", &slopes, &sums.iter().map(|&x| slope(x)).collect::<Vec<_>>());
    }
}

/// Its power series.
fn erf(x: f64) -> f64 {
    // Beyond, 1.5e-8 is missing to 1, and the series would cancel.
    if x.abs() > 4.0 {
        return x.signum();
    }
    let mut term = x;
    let mut sum = x;
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

#[test]
fn linear_backward() {
    for layer in layers() {
        let Layer {
            rows, inputs, outputs, ..
        } = layer;
        let mut scratch = Scratch::default();
        let d_y = |i: usize, k: usize| wide(layer.d_y[i * outputs + k]);
        let d_x = product(rows, outputs, inputs, d_y, |k, j| layer.at(j, k));
        let mut out = vec![f32::NAN; rows * inputs];
        linear::backward_input(&layer.d_y, layer.weight(), Slope::One, &mut out, &mut scratch);
        close("d_x", &out, &d_x);
        let slopes = &layer.other[..out.len()];
        let times =
            |slope: fn(f64) -> f64| -> Vec<f64> { d_x.iter().zip(slopes).map(|(d, &s)| d * slope(wide(s))).collect() };
        linear::backward_input(&layer.d_y, layer.weight(), Slope::Times(slopes), &mut out, &mut scratch);
        close("times", &out, &times(|s| s));
        linear::backward_input(&layer.d_y, layer.weight(), Slope::Tanh(slopes), &mut out, &mut scratch);
        close("tanh", &out, &times(|s| 1.0 - s * s));

        let d_weight = product(inputs, rows, outputs, |i, k| wide(layer.x[k * inputs + i]), d_y);
        let lies = |at: usize| {
            let (input, output) = if layer.by_output {
                (at % inputs, at / inputs)
            } else {
                (at / outputs, at % outputs)
            };
            d_weight[input * outputs + output]
        };
        let d_bias: Vec<f64> = (0..outputs).map(|j| (0..rows).map(|i| d_y(i, j)).sum()).collect();
        for adds in [false, true] {
            // Two targets of one product, each with a share of its own.
            let factors = [0.25, -1.5];
            let mut into = factors.map(|factor| (factor, layer.weight.clone(), layer.bias.clone()));
            let mut targets: Vec<Target> = into
                .iter_mut()
                .map(|(factor, weight, bias)| Target {
                    share: Share { factor: *factor, adds },
                    weight,
                    bias: Some(bias),
                })
                .collect();
            let shape = (inputs, outputs, layer.by_output);
            linear::backward_weight(&layer.x, &layer.d_y, shape, &mut targets, &mut scratch);
            let old = |old: f32| if adds { wide(old) } else { 0.0 };
            for (factor, weight, bias) in &into {
                let factor = wide(*factor);
                let exact = layer
                    .weight
                    .iter()
                    .enumerate()
                    .map(|(at, &w)| old(w) + factor * lies(at));
                close("d_weight", weight, &exact.collect::<Vec<_>>());
                let exact = layer.bias.iter().zip(&d_bias).map(|(&b, d)| old(b) + factor * d);
                close("d_bias", bias, &exact.collect::<Vec<_>>());
            }
        }
    }
}

/// Probabilities of one row and head, and what they mix; plain f64 throughout.
fn attend(qkv: &[f64], heads: Heads) -> Vec<f64> {
    let (columns, size) = (heads.columns, heads.size);
    let width = heads.heads * size;
    let positions = qkv.len() / (3 * width);
    let at = |position: usize, which: usize, channel: usize| qkv[position * 3 * width + which * width + channel];
    let mut out = vec![0.0; positions * width];
    for query in 0..positions {
        let first = query - query % columns;
        for head in 0..heads.heads {
            let channels = head * size..(head + 1) * size;
            let score = |key: usize| -> f64 {
                let dot: f64 = channels.clone().map(|c| at(query, 0, c) * at(key, 1, c)).sum();
                (dot / (size as f64).sqrt()).exp()
            };
            let total: f64 = (first..=query).map(score).sum();
            for c in channels.clone() {
                out[query * width + c] = (first..=query).map(|key| score(key) / total * at(key, 2, c)).sum();
            }
        }
    }
    out
}

#[test]
fn attention_forward_and_backward() {
    for (rows, columns, heads, size) in [(1, 1, 1, 1), (2, 5, 2, 3), (1, 9, 3, 5), (2, 16, 2, 8), (1, 13, 1, 4)] {
        let heads = Heads { columns, heads, size };
        let width = heads.heads * size;
        let positions = rows * columns;
        let qkv = numbers(positions * 3 * width, 6);
        let d_out = numbers(positions * width, 7);
        let exact: Vec<f64> = qkv.iter().copied().map(wide).collect();
        let mut scratch = Scratch::default();
        let mut out = vec![f32::NAN; positions * width];
        let mut kept = vec![f32::NAN; rows * heads.heads * columns * columns];
        attention::forward(&qkv, heads, &mut out, &mut kept, &mut scratch);
        close("mixed", &out, &attend(&exact, heads));

        let (mut d_qkv, mut space) = (vec![f32::NAN; qkv.len()], vec![f32::NAN; kept.len()]);
        let task = attention::Backward {
            qkv: &qkv,
            kept: &kept,
            d_out: &d_out,
            d_qkv: &mut d_qkv,
            space: &mut space,
        };
        attention::backward(task, heads, &mut scratch);
        let objective = |qkv: &[f64]| -> f64 {
            attend(qkv, heads)
                .iter()
                .zip(&d_out)
                .map(|(mixed, &d)| mixed * wide(d))
                .sum()
        };
        let slope = |at: usize| {
            let moved = |by: f64| {
                let mut qkv = exact.clone();
                qkv[at] += by;
                objective(&qkv)
            };
            (moved(1e-5) - moved(-1e-5)) / 2e-5
        };
        close("d_qkv", &d_qkv, &(0..qkv.len()).map(slope).collect::<Vec<_>>());
    }
}

#[test]
fn layer_norm_forward_and_backward() {
    for (rows, width) in [(1, 1), (3, 4), (5, 20), (7, 6), (2, 64)] {
        let (x, gain, bias) = (numbers(rows * width, 8), numbers(width, 9), numbers(width, 10));
        let d_y = numbers(rows * width, 11);
        let normed = |x: &[f64], row: usize| -> Vec<f64> {
            let x = &x[row * width..][..width];
            let mean = x.iter().sum::<f64>() / width as f64;
            let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / width as f64;
            x.iter().map(|x| (x - mean) / (variance + 1e-5).sqrt()).collect()
        };
        let exact: Vec<f64> = x.iter().copied().map(wide).collect();
        let all: Vec<f64> = (0..rows).flat_map(|row| normed(&exact, row)).collect();
        let (mut out, mut moments) = (vec![f32::NAN; x.len()], vec![f32::NAN; 2 * rows]);
        layer_norm::forward(&x, &gain, &bias, &mut out, &mut moments);
        let scaled = all
            .iter()
            .enumerate()
            .map(|(at, n)| n * wide(gain[at % width]) + wide(bias[at % width]));
        close("normed", &out, &scaled.collect::<Vec<_>>());

        let add = numbers(x.len(), 12);
        let objective = |x: &[f64]| -> f64 {
            let all = (0..rows).flat_map(|row| normed(x, row)).enumerate();
            all.map(|(at, n)| n * wide(gain[at % width]) * wide(d_y[at])).sum()
        };
        let slope = |at: usize| {
            let moved = |by: f64| {
                let mut x = exact.clone();
                x[at] += by;
                objective(&x)
            };
            (moved(1e-6) - moved(-1e-6)) / 2e-6 + wide(add[at])
        };
        layer_norm::backward_input(&d_y, &x, &moments, &gain, Some(&add), &mut out);
        // A row of one number has no direction to move in, and f32 leaves more of the deviation 0.003 than f64 does.
        if width > 1 {
            close("d_x", &out, &(0..x.len()).map(slope).collect::<Vec<_>>());
        }

        let (mut d_gain, mut d_bias) = (vec![1.0; width], vec![2.0; width]);
        let share = Share {
            factor: 0.5,
            adds: true,
        };
        layer_norm::backward_weight(
            &d_y,
            &x,
            &moments,
            share,
            &mut d_gain,
            &mut d_bias,
            &mut Scratch::default(),
        );
        let sum =
            |of: &dyn Fn(usize) -> f64, column: usize| -> f64 { (0..rows).map(|row| of(row * width + column)).sum() };
        let exact = |base: f64, of: &dyn Fn(usize) -> f64| -> Vec<f64> {
            (0..width).map(|column| base + 0.5 * sum(of, column)).collect()
        };
        close("d_gain", &d_gain, &exact(1.0, &|at| wide(d_y[at]) * all[at]));
        close("d_bias", &d_bias, &exact(2.0, &|at| wide(d_y[at])));
    }
}

#[test]
fn token_loss() {
    for classes in [1, 3, 8, 27] {
        let logits: Vec<f32> = numbers(5 * classes, 13).iter().map(|x| 20.0 * x).collect();
        let labels: Vec<i32> = (0..5).map(|i| i % i32::try_from(classes).expect("few")).collect();
        let weights = [1.0, 0.0, 0.5, 1.0, 0.0];
        let row = |at: usize| &logits[at * classes..][..classes];
        let softmax = |at: usize, class: usize| {
            let total: f64 = row(at).iter().map(|&x| (wide(x)).exp()).sum();
            wide(row(at)[class]).exp() / total
        };
        let label = |at: usize| usize::try_from(labels[at]).expect("not negative");
        let exact: Vec<f64> = (0..5).map(|at| -softmax(at, label(at)).ln()).collect();
        let mut losses = vec![f32::NAN; 5];
        loss::forward(&logits, classes, &labels, &mut losses);
        close("losses", &losses, &exact);
        let [sum, count] = loss::totals(&losses, &weights);
        close("totals", &[sum, count], &[exact[0] + 0.5 * exact[2] + exact[3], 3.0]);
        let mut d_logits = logits.clone();
        loss::backward(&mut d_logits, classes, &labels, &weights);
        let slope = |at: usize| {
            let (row, class) = (at / classes, at % classes);
            wide(weights[row]) * (softmax(row, class) - if class == label(row) { 1.0 } else { 0.0 })
        };
        close("d_logits", &d_logits, &(0..logits.len()).map(slope).collect::<Vec<_>>());
    }
}

#[test]
fn embeddings() {
    let (width, columns, tokens) = (5, 3, [2, 0, 2, 1, 1, 2]);
    let (words, places) = (numbers(4 * width, 14), numbers(4 * width, 15));
    let mut out = vec![f32::NAN; tokens.len() * width];
    embedding::forward(&tokens, &words, Some((&places, columns)), width, &mut out);
    let token = |position: usize| usize::try_from(tokens[position]).expect("not negative");
    let exact = |at: usize| {
        let (position, channel) = (at / width, at % width);
        wide(words[token(position) * width + channel]) + wide(places[position % columns * width + channel])
    };
    close("embedded", &out, &(0..out.len()).map(exact).collect::<Vec<_>>());

    let d_x = numbers(out.len(), 16);
    let share = Share {
        factor: 2.0,
        adds: false,
    };
    let mut scratch = Scratch::default();
    let (mut d_words, mut d_places) = (vec![f32::NAN; words.len()], vec![f32::NAN; places.len()]);
    embedding::backward_words(&tokens, &d_x, width, share, &mut d_words, &mut scratch);
    embedding::backward_places(&d_x, columns, width, share, &mut d_places, &mut scratch);
    let gathered = |of: &dyn Fn(usize) -> usize| -> Vec<f64> {
        let mut sums = vec![0.0; 4 * width];
        for (at, &d) in d_x.iter().enumerate() {
            sums[of(at / width) * width + at % width] += 2.0 * wide(d);
        }
        sums
    };
    close("d_words", &d_words, &gathered(&token));
    close("d_places", &d_places, &gathered(&|position| position % columns));
}

#[test]
fn adamw_update() {
    let count = 7;
    let (start, gradient) = (numbers(count, 17), numbers(count, 18));
    let (mut parameters, mut first, mut second) = (start.clone(), numbers(count, 19), vec![0.5; count]);
    let before = first.clone();
    optimizer::moment(&mut first, &gradient, 0.75, 0.25, false);
    optimizer::moment(&mut second, &gradient, 0.875, 0.125, true);
    let by = optimizer::Step {
        size: 0.125,
        correction: 0.5,
        epsilon: 0.001,
        keep: 0.96875,
    };
    optimizer::step(&mut parameters, &first, &second, by);
    let m = |i: usize| 0.75 * wide(before[i]) + 0.25 * wide(gradient[i]);
    let v = |i: usize| 0.875 * 0.5 + 0.125 * wide(gradient[i]).powi(2);
    let p = |i: usize| 0.96875 * wide(start[i]) - 0.125 * m(i) / (v(i).sqrt() / 0.5 + wide(0.001));
    close("first", &first, &(0..count).map(m).collect::<Vec<_>>());
    close("second", &second, &(0..count).map(v).collect::<Vec<_>>());
    close("parameters", &parameters, &(0..count).map(p).collect::<Vec<_>>());
}

#[test]
fn combinations_are_compared_with_one_of_them() {
    for length in [1, 31, 32, 200] {
        let vectors = numbers(5 * length, 3);
        let rows: Vec<Vec<f32>> = (0..3).map(|seed| numbers(5, 40 + seed)).collect();
        let at = |row: &[f32], i: usize| -> f64 {
            let terms = row.iter().enumerate();
            terms.map(|(k, &c)| wide(c) * wide(vectors[k * length + i])).sum()
        };
        let sum = |term: &dyn Fn(usize) -> f64| (0..length).map(term).sum::<f64>();
        for (row, ours) in rows.iter().zip(compare::compare(&vectors, length, &rows, 1)) {
            let (of, reference) = (|i| at(row, i), |i| at(&rows[1], i));
            let exact = [
                sum(&|i| of(i) * of(i)),
                sum(&|i| of(i) * reference(i)),
                sum(&|i| (of(i) - reference(i)).powi(2)),
            ];
            for (ours, exact) in [ours.square, ours.along, ours.apart].into_iter().zip(exact) {
                assert!((ours - exact).abs() <= 1e-6 * length as f64, "{ours} against {exact}");
            }
        }
        let parts = [vec![0, 2, 4], vec![], vec![1, 3]];
        let [forth, back] = compare::both_ways(&vectors, length, &parts);
        let all = sum(&|i| at(&[1.0; 5], i).powi(2));
        assert!((forth.square - all).abs() <= 1e-6 * all.max(1.0) && forth.apart == 0.0);
        // What the two orders differ by, in the same f32 sums.
        let in_order = |order: &[&[usize]], i: usize| -> f32 {
            let parts = order
                .iter()
                .map(|part| part.iter().map(|k| vectors[k * length + i]).reduce(|a, b| a + b));
            parts.flatten().reduce(|a, b| a + b).expect("there are some")
        };
        let apart = sum(&|i| {
            let forth = in_order(&[&[0, 2, 4], &[1, 3]], i);
            let back = in_order(&[&[3, 1], &[4, 2, 0]], i);
            wide(back - forth).powi(2)
        });
        assert!((back.apart - apart).abs() <= 1e-6 * apart);
    }
}
