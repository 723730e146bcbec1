//! A network's list of operations against the same network in burn's operations, on one device.

use burn::tensor::{Tensor, TensorData};
use microbatch_lab::{
    batch::TokenWeights,
    engine::{Device, gradient::Forward, microbatch::Microbatch, model::Mode, readback::read},
    setup::Key,
};

use super::bench::{Bench, assert_near};

/// Sizes that fill registers and sizes that do not, with more positions than one piece of a sum takes.
const MODELS: &[&[(Key, &str)]] = &[
    &[(Key::Model, "token_mlp"), (Key::Embed, "8"), (Key::Hidden, "16")],
    &[(Key::Model, "token_mlp"), (Key::Embed, "5"), (Key::Hidden, "7")],
    &[
        (Key::Model, "transformer"),
        (Key::Width, "16"),
        (Key::Heads, "2"),
        (Key::Layers, "2"),
    ],
    &[
        (Key::Model, "transformer"),
        (Key::Width, "15"),
        (Key::Heads, "3"),
        (Key::Layers, "1"),
    ],
    &[
        (Key::Model, "transformer"),
        (Key::Width, "20"),
        (Key::Heads, "4"),
        (Key::Layers, "3"),
    ],
];

/// Rows of the microbatch.
const ROWS: &[u32] = &[1, 3, 40];

async fn values(tensor: &Tensor<1>) -> Vec<f64> {
    let values = read(tensor).await.expect("read");
    values.into_iter().map(f64::from).collect()
}

/// Compares sums, gradients, and gradients added to others. The same memory serves one microbatch after another, whatever its size.
pub(crate) async fn compare(device: &Device, tolerance: f64) {
    for changes in MODELS {
        let bench = Bench::new(device, changes);
        let mut numerics = bench.numerics(1);
        let count = bench.start.len();
        let start = Tensor::<1>::from_data(TensorData::new(bench.start.clone(), [count]), device);
        let others: Vec<f32> = (0..count).map(|i| (i % 7) as f32 / 8.0).collect();
        let others = Tensor::<1>::from_data(TensorData::new(others, [count]), device);
        for &rows in ROWS {
            let microbatch = Microbatch::new(device, bench.batch(0..rows));
            for weights in [TokenWeights::Uniform, TokenWeights::ExampleMean] {
                let what = format!("{changes:?}, {rows} rows, {weights:?}");
                let mode = numerics.mode(&bench.network, 0, &microbatch);
                let list = || Forward::new(&bench.network, &start, &microbatch, weights, &mut mode.clone());
                assert!(list().has_list(), "{what}: autodiff against itself");
                let graph = Forward::by_graph(&bench.network, &start, &microbatch, weights, &mut Mode::default());
                let ours = list();
                for (name, ours, expected) in [
                    ("S", &ours.loss_sum, &graph.loss_sum),
                    ("W", &ours.weighted_sum(), &graph.weighted_sum()),
                ] {
                    assert_near(
                        &format!("{what}: {name}"),
                        &values(ours).await,
                        &values(expected).await,
                        tolerance,
                    );
                }
                let expected = values(&graph.backward()).await;
                assert_near(&what, &values(&ours.backward()).await, &expected, tolerance);

                let kept = others.clone();
                let sum = values(&list().add_to(Some(others.clone()), -0.75)).await;
                let kept = values(&kept).await;
                let expected: Vec<f64> = kept.iter().zip(&expected).map(|(other, g)| other - 0.75 * g).collect();
                assert_near(&format!("{what}, added"), &sum, &expected, tolerance);
                assert_near(&format!("{what}, others"), &values(&others).await, &kept, 0.0);
            }
        }
    }
}
