//! One padded microbatch on the device. All lanes work on the same one.

use std::cell::OnceCell;

use burn::tensor::{Int, Tensor, TensorData};

use super::Device;
use crate::batch::{IGNORE_INDEX, PaddedBatch, TokenWeights, example::holds_token, oracle::token_weights};

/// What a network looks at.
pub struct Inputs {
    /// Tokens, rows x width.
    pub tokens: Tensor<2, Int>,
    /// Which positions hold a token.
    pub real: Real,
    later: OnceCell<Tensor<2>>,
}

impl Inputs {
    /// Added to attention scores, query x key: 0 for keys up to the query, and for later ones a number that leaves nothing of them after
    /// softmax. Made when a network first asks: most have no use for width x width numbers.
    pub fn later(&self) -> &Tensor<2> {
        self.later.get_or_init(|| {
            let [_, width] = self.tokens.dims();
            let row = |query| (0..width).map(move |key| if key > query { HIDDEN } else { 0.0 });
            let values: Vec<f32> = (0..width).flat_map(row).collect();
            Tensor::from_data(TensorData::new(values, [width, width]), &self.tokens.device())
        })
    }
}

/// The positions that hold a token. Tensors are made when a network first asks.
pub struct Real {
    each: Vec<bool>,
    device: Device,
    picks: OnceCell<Tensor<2>>,
    ones: OnceCell<Tensor<2>>,
}

impl Real {
    /// `each` says it of every position.
    pub fn new(device: &Device, each: Vec<bool>) -> Self {
        Self {
            each,
            device: device.clone(),
            picks: OnceCell::new(),
            ones: OnceCell::new(),
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.each.iter().filter(|&&real| real).count()
    }

    /// 1 x positions: 1 for these, 0 for padding.
    pub fn picks(&self) -> &Tensor<2> {
        self.picks.get_or_init(|| {
            let values: Vec<f32> = self.each.iter().map(|&real| f32::from(u8::from(real))).collect();
            Tensor::from_data(TensorData::new(values, [1, self.each.len()]), &self.device)
        })
    }

    /// positions x 1: 1 everywhere.
    pub fn ones(&self) -> &Tensor<2> {
        self.ones
            .get_or_init(|| Tensor::ones([self.each.len(), 1], &self.device))
    }
}

/// What the loss looks at: one entry a position.
pub struct Targets {
    /// The next token; 0 where nothing is scored.
    pub labels: Tensor<1, Int>,
    /// 1 where a position is scored, else 0.
    pub scored: Tensor<1>,
}

/// A microbatch on a device.
pub struct Microbatch {
    /// For the network.
    pub inputs: Inputs,
    /// For the loss.
    pub targets: Targets,
    host: PaddedBatch,
    device: Device,
}

/// Finite, since a shader compiler may take it for granted that no number is infinite.
const HIDDEN: f32 = -1e30;

impl Microbatch {
    /// Sends `batch` to the device. `device` carries no autodiff: nothing here is learnt.
    pub fn new(device: &Device, batch: PaddedBatch) -> Self {
        let (rows, width) = (batch.rows(), batch.width);
        let tokens: Vec<i32> = batch.tokens.iter().map(|&t| i32::try_from(t).unwrap_or(0)).collect();
        let labels: Vec<i32> = batch.labels.iter().map(|&label| label.max(0)).collect();
        let scored: Vec<f32> = batch
            .labels
            .iter()
            .map(|&l| if l == IGNORE_INDEX { 0.0 } else { 1.0 })
            .collect();
        Self {
            inputs: Inputs {
                tokens: Tensor::from_data(TensorData::new(tokens, [rows, width]), device),
                real: Real::new(device, batch.tokens.iter().map(|&token| holds_token(token)).collect()),
                later: OnceCell::new(),
            },
            targets: Targets {
                labels: Tensor::from_data(TensorData::new(labels, [rows * width]), device),
                scored: Tensor::from_data(TensorData::new(scored, [rows * width]), device),
            },
            host: batch,
            device: device.clone(),
        }
    }

    /// The batch as it was before it went to the device.
    pub fn host(&self) -> &PaddedBatch {
        &self.host
    }

    /// Where it is.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// What each position's loss is multiplied by before it is summed and sent back.
    pub fn weights(&self, weights: TokenWeights) -> Tensor<1> {
        match weights {
            TokenWeights::Uniform => self.targets.scored.clone(),
            TokenWeights::ExampleMean => {
                let values: Vec<f32> = token_weights(weights, &self.host).into_iter().map(to_f32).collect();
                let positions = values.len();
                Tensor::from_data(TensorData::new(values, [positions]), &self.device)
            }
        }
    }
}

/// The nearest f32.
#[expect(
    clippy::cast_possible_truncation,
    reason = "rounding to the device's precision is what is meant"
)]
pub(super) fn to_f32(x: f64) -> f32 {
    x as f32
}
