//! A network's list of operations on WebGPU against the same network in burn's operations, in shapes that fill quads, heads, registers and
//! workgroups, and in shapes that do not.
//!
//! Their shaders are pack.wgsl, embed.wgsl, layer_norm.wgsl, affine.wgsl, attention.wgsl, loss.wgsl and totals.wgsl for the forward, and
//! layer_norm_input.wgsl, attention_backward_query.wgsl, attention_backward_key.wgsl and weights.wgsl for the backward.

use burn::tensor::{Tensor, TensorData};
use microbatch_lab::{
    batch::{
        ExampleId, IGNORE_INDEX, PaddedBatch, TokenWeights,
        oracle::{MlpShape, TransformerShape, relative_l2},
    },
    engine::{
        Device,
        gradient::Forward,
        microbatch::Microbatch,
        model::{Mode, Network},
        program::{Recorded, Workspace},
        readback::read,
    },
};

/// Fast exp, other orders of summation, and an erf that is off by 1.5e-7.
const TOLERANCE: f64 = 1e-5;

/// A network, rows and columns.
type Shape = (Network, usize, usize);

/// Irregular numbers within about -spread to spread.
fn values(count: usize, seed: usize, spread: f32) -> Vec<f32> {
    (0..count)
        .map(|i| (((i + seed) * 37 + 11) % 101) as f32 / 50.5 * spread - spread)
        .collect()
}

fn transformer(vocab: usize, width: usize, layers: usize, heads: usize, context: usize) -> Network {
    Network::Transformer(TransformerShape {
        vocab,
        width,
        layers,
        heads,
        context,
    })
}

fn mlp(vocab: usize, embed: usize, hidden: usize) -> Network {
    Network::TokenMlp(MlpShape {
        vocab,
        embed,
        hidden,
        batch_norm: false,
    })
}

/// Whole quads and not; one head, and heads of one quad, of more, and of none that is whole; fewer positions than a block of registers, and
/// rows that end inside one; more columns than a wave of threads.
fn shapes() -> Vec<Shape> {
    vec![
        (transformer(16, 16, 1, 2, 8), 2, 8),
        // More to lay out than the workgroups of one launch can.
        (transformer(28, 512, 3, 8, 8), 1, 4),
        (transformer(27, 20, 2, 4, 24), 3, 7),
        (transformer(27, 20, 1, 4, 24), 1, 1),
        (transformer(13, 12, 1, 1, 70), 2, 67),
        (transformer(30, 24, 1, 2, 9), 5, 9),
        (transformer(9, 6, 1, 3, 5), 4, 5),
        (mlp(27, 8, 8), 3, 5),
        (mlp(64, 16, 32), 4, 16),
        (mlp(11, 3, 7), 2, 9),
    ]
}

/// Some positions are not scored, and the last row is short.
fn batch(vocab: usize, rows: usize, columns: usize) -> PaddedBatch {
    let positions = rows * columns;
    let tokens = (0..positions).map(|i| u32::try_from((i * 7 + i / 3 + 1) % vocab).expect("few"));
    let labels = (0..positions).map(|i| match i % 5 {
        3 => IGNORE_INDEX,
        _ => i32::try_from((i * 5 + 2) % vocab).expect("few"),
    });
    PaddedBatch {
        ids: (0..rows)
            .map(|row| ExampleId(u32::try_from(row).expect("few")))
            .collect(),
        width: columns,
        tokens: tokens.collect(),
        labels: labels.collect(),
    }
}

fn vocabulary(network: &Network) -> usize {
    match network {
        Network::TokenMlp(shape) => shape.vocab,
        Network::Transformer(shape) => shape.vocab,
        Network::Line(_) => 1,
    }
}

struct Bench {
    network: Network,
    parameters: Tensor<1>,
    microbatch: Microbatch,
    weights: TokenWeights,
}

impl Bench {
    fn new(device: &Device, (network, rows, columns): Shape, weights: TokenWeights) -> Self {
        let parameters = values(network.parameters(), 3, 0.4);
        let parameters = Tensor::from_data(TensorData::new(parameters, [network.parameters()]), device);
        Self {
            network,
            parameters,
            microbatch: Microbatch::new(device, batch(vocabulary(&network), rows, columns)),
            weights,
        }
    }

    /// The weighted pair, the plain pair, and the gradient of the weighted sum.
    async fn composed(&self) -> [Vec<f64>; 3] {
        let mut mode = Mode::default();
        let forward = Forward::by_graph(
            &self.network,
            &self.parameters,
            &self.microbatch,
            self.weights,
            &mut mode,
        );
        let (weighted, plain) = (forward.weighted_sum(), forward.loss_sum.clone());
        all(&[weighted, plain, forward.backward()]).await
    }

    fn forward(&self, workspace: &Workspace) -> Recorded {
        Recorded::forward(
            &self.network,
            &self.parameters,
            &self.microbatch,
            self.weights,
            workspace,
        )
        .expect("a list")
    }

    /// The same by the list: all at once, then half of it on top of it twice, once in place and once beside what others hold.
    async fn listed(&self, workspace: &Workspace) -> [Vec<f64>; 4] {
        let first = self.forward(workspace);
        let (weighted, plain) = (first.weighted_sum(), first.loss_sum());
        let gradient = first.backward(None, 1.0);
        let copied = self.forward(workspace).backward(Some(gradient.clone()), 0.5);
        let sum = self.forward(workspace).backward(Some(copied), 0.5);
        all(&[weighted, plain, gradient, sum]).await
    }
}

async fn all<const N: usize>(tensors: &[Tensor<1>; N]) -> [Vec<f64>; N] {
    let mut read_all = std::array::from_fn(|_| Vec::new());
    for (slot, tensor) in read_all.iter_mut().zip(tensors) {
        let numbers = read(tensor).await.expect("read");
        *slot = numbers.into_iter().map(f64::from).collect();
    }
    read_all
}

pub(crate) async fn lists_equal_networks(device: &Device) {
    for weights in [TokenWeights::Uniform, TokenWeights::ExampleMean] {
        for shape in shapes() {
            let bench = Bench::new(device, shape, weights);
            // Memory that was used before holds other numbers.
            let workspace = Workspace::default();
            let [weighted, plain, gradient] = bench.composed().await;
            for _ in 0..2 {
                let listed = bench.listed(&workspace).await;
                let doubled: Vec<f64> = gradient.iter().map(|g| 2.0 * g).collect();
                let expected = [&weighted, &plain, &gradient, &doubled];
                for (what, (ours, expected)) in ["weighted", "plain", "gradient", "sum"]
                    .iter()
                    .zip(listed.iter().zip(expected))
                {
                    assert_eq!(ours.len(), expected.len());
                    let error = relative_l2(ours, expected);
                    assert!(error <= TOLERANCE, "{what} of {shape:?}, {weights:?}: off by {error:e}");
                }
            }
        }
    }
}
