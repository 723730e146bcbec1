//! The oracles' gradients against central differences of their losses, parameter by parameter: the one check that needs no other program.

use microbatch_lab::batch::oracle::{
    BatchNorm, MlpShape, Momentum, Numerics, Scored, TransformerShape, batch_norm::BATCH_NORM_EPS, mlp_pass, norm,
    transformer_pass,
};

/// The error of the quotient of five points is of the order of h^4, that of rounding of 1e-16 / h. With three points the strong curvature of
/// BatchNorm over little variance would leave 2e-7.
const STEP: f64 = 5e-5;
/// Relative to the largest slope.
const TOLERANCE: f64 = 1e-8;

/// Two rows of four positions: a prompt that is not scored, a padded tail, and weights that differ.
const BATCH: Scored = Scored {
    tokens: &[1, 2, 3, 4, 2, 2, 0, 0],
    labels: &[2, 3, 4, -100, 2, 1, -100, -100],
    weights: &[0.5, 1.0, 1.0, 0.0, 2.0, 1.0, 0.0, 0.0],
};

/// Irregular, and large enough that every branch matters.
fn start(parameters: usize) -> Vec<f64> {
    (0..parameters)
        .map(|i| ((i * 37 + 11) % 101) as f64 / 101.0 - 0.45)
        .collect()
}

/// Every third value dropped, the others times 1.5.
fn masks(places: usize, length: usize) -> Vec<Vec<f64>> {
    let kept = |i: usize| if i % 3 == 1 { 0.0 } else { 1.5 };
    (0..places)
        .map(|place| (place..place + length).map(kept).collect())
        .collect()
}

/// Losses and gradient at some parameters.
type Pass<'a> = dyn Fn(&[f64]) -> (f64, Vec<f64>) + 'a;

fn agrees(what: &str, start: &[f64], pass: &Pass) {
    let (loss, gradient) = pass(start);
    assert!(loss.is_finite() && norm(&gradient) > 0.1, "{what}: nothing to compare");
    let scale = gradient.iter().fold(1.0, |most: f64, g| most.max(g.abs()));
    let mut moved = start.to_vec();
    for (i, expected) in gradient.iter().enumerate() {
        let mut at = |by: f64| {
            moved[i] = start[i] + by;
            pass(&moved).0
        };
        let (near, far) = (at(STEP) - at(-STEP), at(2.0 * STEP) - at(-2.0 * STEP));
        let slope = (8.0 * near - far) / (12.0 * STEP);
        moved[i] = start[i];
        assert!(
            (slope - expected).abs() <= TOLERANCE * scale,
            "{what}, parameter {i}: {slope} against {expected}"
        );
    }
}

fn mlp(what: &str, batch_norm: bool, masks: &[Vec<f64>]) {
    let shape = MlpShape {
        vocab: 5,
        embed: 3,
        hidden: 4,
        batch_norm,
    };
    let numerics = Numerics { half: false, masks };
    agrees(what, &start(shape.parameters()), &|p| {
        let mut norm = BatchNorm::new(shape.hidden, BATCH_NORM_EPS, Momentum::Cumulative);
        let (losses, gradient) = mlp_pass(shape, p, BATCH, numerics, &mut norm).expect("positions enough");
        (losses.sum, gradient)
    });
}

fn transformer(what: &str, masks: &[Vec<f64>]) {
    let shape = TransformerShape {
        vocab: 5,
        width: 4,
        layers: 2,
        heads: 2,
        context: 4,
    };
    let numerics = Numerics { half: false, masks };
    agrees(what, &start(shape.parameters()), &|p| {
        let (losses, gradient) = transformer_pass(shape, p, 4, BATCH, numerics);
        (losses.sum, gradient)
    });
}

#[test]
fn of_the_token_mlp() {
    mlp("token MLP", false, &[]);
    mlp("token MLP with dropout", false, &masks(1, 8 * 4));
}

/// Through the statistics of the microbatch, which every position takes part in.
#[test]
fn of_the_token_mlp_with_batch_norm() {
    mlp("BatchNorm", true, &[]);
    mlp("BatchNorm with dropout", true, &masks(1, 8 * 4));
}

#[test]
fn of_the_transformer() {
    transformer("transformer", &[]);
    transformer("transformer with dropout", &masks(4, 8 * 4));
}
