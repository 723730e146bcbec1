//! Every hand-written layer against its twin of stock operations, on one device: outputs, and the gradients of all inputs.
//!
//! affine: affine.wgsl, affine_backward_input.wgsl, affine_backward_weight.wgsl; layer norm: layer_norm.wgsl, layer_norm_backward.wgsl,
//! layer_norm_backward_gain.wgsl; GELU: gelu.wgsl, gelu_backward.wgsl; attention: attention.wgsl, attention_backward_query.wgsl,
//! attention_backward_key.wgsl.

use burn::tensor::{Tensor, TensorData};
use microbatch_lab::{
    batch::{ExampleId, PaddedBatch, oracle::relative_l2},
    engine::{
        Device,
        kernels::layers as kernel,
        microbatch::Microbatch,
        model::layers::{Layout, twin},
        readback::Readback,
    },
};

/// Fast exp, another order of summation, and an erf that is off by 1.5e-7.
const TOLERANCE: f64 = 1e-5;

/// Irregular numbers within about -spread to spread.
fn values(count: usize, seed: usize, spread: f32) -> Vec<f32> {
    (0..count)
        .map(|i| (((i + seed) * 37 + 11) % 101) as f32 / 50.5 * spread - spread)
        .collect()
}

struct Bench {
    device: Device,
}

impl Bench {
    fn leaf(&self, shape: [usize; 2], seed: usize) -> Tensor<2> {
        let data = TensorData::new(values(shape[0] * shape[1], seed, 1.3), shape);
        Tensor::from_data(data, &self.device).autodiff().require_grad()
    }

    /// The output, then the gradient of each input.
    async fn measure(&self, inputs: &[Tensor<2>], layer: impl Fn(Vec<Tensor<2>>) -> Tensor<2>) -> Vec<Vec<f64>> {
        let output = layer(inputs.to_vec());
        let [rows, columns] = output.dims();
        let weights = TensorData::new(values(rows * columns, 5, 1.0), [rows, columns]);
        let mut gradients = (output.clone() * Tensor::from_data(weights, &self.device))
            .sum()
            .backward();
        let mut all = vec![output.without_autodiff()];
        all.extend(
            inputs
                .iter()
                .map(|input| input.grad_remove(&mut gradients).expect("each input is a leaf")),
        );
        let mut readback = Readback::default();
        let slots: Vec<_> = all
            .into_iter()
            .map(|tensor| {
                let [rows, columns] = tensor.dims();
                readback.add(&tensor.reshape([rows * columns]))
            })
            .collect();
        let read = readback.read().await.expect("read");
        slots
            .into_iter()
            .map(|slot| read.of(slot).iter().copied().map(f64::from).collect())
            .collect()
    }

    async fn compare(
        &self,
        what: &str,
        inputs: &[Tensor<2>],
        kernel: impl Fn(Vec<Tensor<2>>) -> Tensor<2>,
        twin: impl Fn(Vec<Tensor<2>>) -> Tensor<2>,
    ) {
        let (ours, expected) = (self.measure(inputs, kernel).await, self.measure(inputs, twin).await);
        for (part, (ours, expected)) in ours.iter().zip(&expected).enumerate() {
            assert_eq!(ours.len(), expected.len());
            let error = relative_l2(ours, expected);
            assert!(
                error <= TOLERANCE,
                "{what}, part {part} (output, then inputs): relative L2 {error:e}"
            );
        }
    }
}

/// All layers, at sizes below and above a workgroup of 64.
pub(crate) async fn kernels_equal_twins(device: &Device) {
    let bench = Bench { device: device.clone() };
    for (rows, inputs, outputs) in [(1, 1, 1), (7, 5, 3), (70, 33, 130)] {
        for layout in [Layout::ByOutput, Layout::ByInput] {
            let weight = if layout == Layout::ByOutput {
                [outputs, inputs]
            } else {
                [inputs, outputs]
            };
            let leaves = [
                bench.leaf([rows, inputs], 0),
                bench.leaf(weight, 17),
                bench.leaf([1, outputs], 29),
            ];
            let take = |x: Vec<Tensor<2>>| <[Tensor<2>; 3]>::try_from(x).expect("three");
            let by_kernel = |x| {
                let [x, weight, bias] = take(x);
                kernel::affine(x, weight, bias, layout == Layout::ByOutput)
            };
            let by_twin = |x| {
                let [x, weight, bias] = take(x);
                twin::affine(x, weight, bias, layout)
            };
            bench
                .compare(
                    &format!("affine {rows} {inputs} {outputs} {layout:?}"),
                    &leaves,
                    by_kernel,
                    by_twin,
                )
                .await;
        }
    }
    for (rows, width) in [(1, 4), (67, 16), (5, 70)] {
        let leaves = [
            bench.leaf([rows, width], 0),
            bench.leaf([1, width], 3),
            bench.leaf([1, width], 7),
        ];
        let take = |x: Vec<Tensor<2>>| <[Tensor<2>; 3]>::try_from(x).expect("three");
        let by_kernel = |x| {
            let [x, gain, bias] = take(x);
            kernel::layer_norm(x, gain, bias)
        };
        let by_twin = |x| {
            let [x, gain, bias] = take(x);
            twin::layer_norm(x, gain, bias)
        };
        bench
            .compare(&format!("layer norm {rows} {width}"), &leaves, by_kernel, by_twin)
            .await;
    }
    let one = |mut x: Vec<Tensor<2>>| x.remove(0);
    let leaves = [bench.leaf([13, 11], 1) * 4.0];
    let leaves = leaves.map(|x| x.detach().require_grad());
    bench
        .compare("gelu", &leaves, |x| kernel::gelu(one(x)), |x| twin::gelu(one(x)))
        .await;
    for (rows, columns, heads, size) in [(1, 1, 1, 2), (2, 5, 2, 3), (3, 17, 4, 4)] {
        let leaves = [bench.leaf([rows * columns, 3 * heads * size], 2)];
        let batch = PaddedBatch {
            ids: (0..3).take(rows).map(ExampleId).collect(),
            width: columns,
            tokens: vec![0; rows * columns],
            labels: vec![0; rows * columns],
        };
        let microbatch = Microbatch::new(device, batch);
        let later = || microbatch.inputs.later().clone();
        let by_kernel = |x| kernel::attention(one(x), columns, heads);
        let by_twin = |x| twin::attention(one(x), columns, heads, later());
        bench
            .compare(
                &format!("attention {rows} {columns} {heads} {size}"),
                &leaves,
                by_kernel,
                by_twin,
            )
            .await;
    }
}
