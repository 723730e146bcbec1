//! One masked cross-entropy, computed in three ways: plain f64, stock operations, and (where there is a GPU) the WGSL kernels
//! `token_loss`, `loss_partials`, `loss_total` and, through the gradient, `token_loss_backward`.

use burn::tensor::{Tensor, TensorData};
use microbatch_lab::{
    batch::{
        ExampleId, IGNORE_INDEX, PaddedBatch,
        oracle::{relative_l2, token_cross_entropy},
    },
    engine::{
        Device,
        microbatch::{Microbatch, Targets},
        readback::Readback,
    },
};

struct Case {
    name: &'static str,
    positions: usize,
    vocab: usize,
    /// How far logits spread.
    spread: f32,
    /// Every so many positions is scored; none for 0.
    every: usize,
}

/// Below, at and above a workgroup of 64; one label; nothing scored; logits whose exponentials overflow unless the largest is taken away.
const CASES: [Case; 6] = [
    Case {
        name: "one position",
        positions: 1,
        vocab: 2,
        spread: 1.0,
        every: 1,
    },
    Case {
        name: "a few",
        positions: 7,
        vocab: 11,
        spread: 3.0,
        every: 2,
    },
    Case {
        name: "one workgroup",
        positions: 64,
        vocab: 5,
        spread: 2.0,
        every: 3,
    },
    Case {
        name: "three workgroups",
        positions: 131,
        vocab: 40,
        spread: 4.0,
        every: 1,
    },
    Case {
        name: "nothing scored",
        positions: 9,
        vocab: 4,
        spread: 1.0,
        every: 0,
    },
    Case {
        name: "large logits",
        positions: 66,
        vocab: 13,
        spread: 400.0,
        every: 2,
    },
];

impl Case {
    fn logits(&self) -> Vec<f32> {
        (0..self.positions * self.vocab)
            .map(|i| ((i * 37 + 11) % 101) as f32 / 50.0 * self.spread - self.spread)
            .collect()
    }

    fn labels(&self) -> Vec<i32> {
        let label = |t: usize| i32::try_from((t * 7 + 3) % self.vocab).unwrap();
        let scored = |t: &usize| self.every > 0 && t.is_multiple_of(self.every);
        (0..self.positions)
            .map(|t| if scored(&t) { label(t) } else { IGNORE_INDEX })
            .collect()
    }
}

/// Sum, count and gradient of `totals` on `device` against the oracle, for every case.
pub(crate) async fn equals_oracle(
    device: &Device,
    what: &str,
    tolerance: f64,
    totals: impl Fn(Tensor<2>, &Targets, Tensor<1>) -> Tensor<1>,
) {
    for case in &CASES {
        let (logits, labels) = (case.logits(), case.labels());
        // Uneven, exact in binary, and zero where nothing is scored.
        let weights: Vec<f32> = (0..)
            .zip(&labels)
            .map(|(t, &l)| if l < 0 { 0.0 } else { (t % 4 + 1) as f32 / 4.0 })
            .collect();
        let wide = |values: &[f32]| values.iter().copied().map(f64::from).collect::<Vec<_>>();
        let expected = token_cross_entropy(&wide(&logits), &labels, &wide(&weights), case.vocab);

        let batch = PaddedBatch {
            ids: vec![ExampleId(0)],
            width: case.positions,
            tokens: vec![0; case.positions],
            labels,
        };
        let microbatch = Microbatch::new(device, batch);
        let leaf = Tensor::<2>::from_data(TensorData::new(logits, [case.positions, case.vocab]), device);
        let leaf = leaf.autodiff().require_grad();
        let weights = Tensor::from_data(TensorData::new(weights, [case.positions]), device);
        let result = totals(leaf.clone(), &microbatch.targets, weights);
        let gradient = leaf.grad_remove(&mut result.backward()).expect("the logits are a leaf");
        let mut readback = Readback::default();
        let result = readback.add(&result.without_autodiff());
        let gradient = readback.add(&gradient.reshape([case.positions * case.vocab]));
        let values = readback.read().await.expect("read");

        let [sum, count] = values.of(result) else {
            panic!("{what}, {}: a sum and a count", case.name)
        };
        let error = (f64::from(*sum) - expected.sum).abs() / expected.sum.max(1.0);
        assert!(
            error <= tolerance,
            "{what}, {}: sum {sum} against {}",
            case.name,
            expected.sum
        );
        assert!(
            (f64::from(*count) - expected.count as f64).abs() < 0.5,
            "{what}, {}: count {count}",
            case.name
        );
        let error = relative_l2(&wide(values.of(gradient)), &expected.d_logits);
        assert!(error <= tolerance, "{what}, {}: gradient off by {error:e}", case.name);
    }
}
