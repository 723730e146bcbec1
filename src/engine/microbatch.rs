//! One padded microbatch on the device. All lanes work on the same one.

use std::{cell::OnceCell, ops::Range};

use burn::tensor::{Int, Tensor, TensorData};

use super::Device;
use crate::batch::{IGNORE_INDEX, PaddedBatch, TokenWeights, example::holds_token, oracle::token_weights};

/// What a network looks at. Tensors are made when a network first asks.
pub struct Inputs {
    /// Which positions hold a token.
    pub real: Real,
    rows: usize,
    width: usize,
    each: Vec<i32>,
    device: Device,
    tokens: OnceCell<Tensor<2, Int>>,
    later: OnceCell<Tensor<2>>,
}

impl Inputs {
    /// Rows and width.
    pub fn shape(&self) -> [usize; 2] {
        [self.rows, self.width]
    }

    /// Tokens, rows x width.
    pub fn tokens(&self) -> &Tensor<2, Int> {
        self.tokens
            .get_or_init(|| Tensor::from_data(TensorData::new(self.each.clone(), self.shape()), &self.device))
    }

    /// Added to attention scores, query x key: 0 for keys up to the query, and for later ones a number that leaves nothing of them after
    /// softmax. Most networks have no use for width x width numbers.
    pub fn later(&self) -> &Tensor<2> {
        self.later.get_or_init(|| {
            let width = self.width;
            let row = |query| (0..width).map(move |key| if key > query { HIDDEN } else { 0.0 });
            let values: Vec<f32> = (0..width).flat_map(row).collect();
            Tensor::from_data(TensorData::new(values, [width, width]), &self.device)
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

/// What the loss looks at: one entry a position. Tensors are made when a loss first asks.
pub struct Targets {
    next: Vec<i32>,
    counted: Vec<f32>,
    device: Device,
    labels: OnceCell<Tensor<1, Int>>,
    scored: OnceCell<Tensor<1>>,
}

impl Targets {
    /// The next token; 0 where nothing is scored.
    pub fn labels(&self) -> &Tensor<1, Int> {
        self.labels
            .get_or_init(|| Tensor::from_data(TensorData::new(self.next.clone(), [self.next.len()]), &self.device))
    }

    /// 1 where a position is scored, else 0.
    pub fn scored(&self) -> &Tensor<1> {
        self.scored.get_or_init(|| {
            Tensor::from_data(
                TensorData::new(self.counted.clone(), [self.counted.len()]),
                &self.device,
            )
        })
    }
}

/// What a network's list reads: one entry a position, and maybe more behind the last, which mean nothing.
#[derive(Clone)]
pub struct Listed {
    /// See [`Inputs::tokens`].
    pub tokens: Tensor<1, Int>,
    /// See [`Targets::labels`].
    pub labels: Tensor<1, Int>,
    /// See [`Targets::scored`].
    pub scored: Tensor<1>,
}

/// A microbatch on a device.
pub struct Microbatch {
    /// For the network.
    pub inputs: Inputs,
    /// For the loss.
    pub targets: Targets,
    listed: OnceCell<Listed>,
    host: PaddedBatch,
    device: Device,
}

/// Finite, since a shader compiler may take it for granted that no number is infinite.
const HIDDEN: f32 = -1e30;

/// Parts of one buffer can be bound from multiples of this many entries, on every WebGPU device.
const PART: usize = 64;

impl Microbatch {
    /// `batch` for the device. `device` carries no autodiff: nothing here is learnt.
    pub fn new(device: &Device, batch: PaddedBatch) -> Self {
        let scored = |label: &i32| if *label == IGNORE_INDEX { 0.0 } else { 1.0 };
        Self {
            inputs: Inputs {
                real: Real::new(device, batch.tokens.iter().map(|&token| holds_token(token)).collect()),
                rows: batch.rows(),
                width: batch.width,
                each: batch.tokens.iter().map(|&t| i32::try_from(t).unwrap_or(0)).collect(),
                device: device.clone(),
                tokens: OnceCell::new(),
                later: OnceCell::new(),
            },
            targets: Targets {
                next: batch.labels.iter().map(|&label| label.max(0)).collect(),
                counted: batch.labels.iter().map(scored).collect(),
                device: device.clone(),
                labels: OnceCell::new(),
                scored: OnceCell::new(),
            },
            listed: OnceCell::new(),
            host: batch,
            device: device.clone(),
        }
    }

    /// All of `batches`, whose tokens and masks go to the device in one piece each.
    pub fn together(device: &Device, batches: impl IntoIterator<Item = PaddedBatch>) -> Vec<Self> {
        let all: Vec<Self> = batches.into_iter().map(|batch| Self::new(device, batch)).collect();
        let (mut integers, mut floats) = (Vec::new(), Vec::new());
        let parts: Vec<[Range<usize>; 3]> = all
            .iter()
            .map(|k| {
                let tokens = put(&mut integers, &k.inputs.each);
                let labels = put(&mut integers, &k.targets.next);
                [tokens, labels, put(&mut floats, &k.targets.counted)]
            })
            .collect();
        let [integer_count, float_count] = [integers.len(), floats.len()];
        let integers = Tensor::<1, Int>::from_data(TensorData::new(integers, [integer_count]), device);
        let floats = Tensor::<1>::from_data(TensorData::new(floats, [float_count]), device);
        for (k, [tokens, labels, scored]) in all.iter().zip(parts) {
            k.listed.get_or_init(|| Listed {
                tokens: integers.clone().slice([tokens]),
                labels: integers.clone().slice([labels]),
                scored: floats.clone().slice([scored]),
            });
        }
        all
    }

    /// For a network's list.
    pub fn listed(&self) -> &Listed {
        self.listed.get_or_init(|| {
            let positions = self.inputs.each.len();
            Listed {
                tokens: self.inputs.tokens().clone().reshape([positions]),
                labels: self.targets.labels().clone(),
                scored: self.targets.scored().clone(),
            }
        })
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
            TokenWeights::Uniform => self.targets.scored().clone(),
            TokenWeights::ExampleMean => {
                let values: Vec<f32> = token_weights(weights, &self.host).into_iter().map(to_f32).collect();
                let positions = values.len();
                Tensor::from_data(TensorData::new(values, [positions]), &self.device)
            }
        }
    }
}

/// Puts `values` behind what is there, filled up to a part that can be bound; says where.
fn put<T: Copy + Default>(all: &mut Vec<T>, values: &[T]) -> Range<usize> {
    let from = all.len();
    all.extend_from_slice(values);
    all.resize(all.len().next_multiple_of(PART), T::default());
    from..all.len()
}

/// The nearest f32.
#[expect(
    clippy::cast_possible_truncation,
    reason = "rounding to the device's precision is what is meant"
)]
pub(super) fn to_f32(x: f64) -> f32 {
    x as f32
}
