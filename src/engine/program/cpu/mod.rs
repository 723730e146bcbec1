//! Works a list off on the CPU device: plain loops over the tensors' own memory.

mod backward;
mod forward;
mod weights;

use burn::{
    backend::{
        Flex,
        tensor::{FloatTensor, IntTensor},
    },
    tensor::{DType, TensorData},
};
use microbatch_kernels::{
    Scratch,
    attention::Heads,
    linear::{Share, Weight},
    loss,
};

use super::{Matrix, Op, Program, Region, Tape, run::Programs};
use crate::engine::microbatch::to_f32;
use weights::{Gradient, Gradients};

/// The working memory of one tape, used again by later ones.
#[derive(Default)]
struct Memory {
    regions: Vec<Vec<f32>>,
    tokens: Vec<i32>,
    labels: Vec<i32>,
    scratch: Scratch,
}

/// What operations read beside the working memory.
struct Reads<'a> {
    program: &'a Program,
    parameters: &'a [f32],
    weights: &'a [f32],
}

impl Programs for Flex {
    fn program_forward(
        parameters: FloatTensor<Self>,
        tokens: IntTensor<Self>,
        labels: IntTensor<Self>,
        scored: FloatTensor<Self>,
        weights: FloatTensor<Self>,
        weighted: bool,
        tape: Tape,
    ) -> FloatTensor<Self> {
        let program = tape.program().clone();
        let [parameters, scored, weights] = [parameters, scored, weights].map(|tensor| tensor.to_contiguous());
        let mut memory = tape.workspace().spare::<Memory>().unwrap_or_default();
        memory.fit(&program);
        copy_integers(&tokens, &mut memory.tokens);
        copy_integers(&labels, &mut memory.labels);
        let reads = Reads {
            program: &program,
            parameters: floats(&parameters),
            weights: floats(&weights),
        };
        for op in &program.forward {
            memory.work(op, &reads, None);
        }
        let losses = &memory.regions[program.losses.0];
        let mut totals = loss::totals(losses, reads.weights).to_vec();
        if weighted {
            totals.extend(loss::totals(losses, floats(&scored)));
        }
        tape.keep(memory);
        let count = totals.len();
        FloatTensor::<Self>::from_data(TensorData::new(totals, [count]))
    }

    fn program_backward(
        parameters: FloatTensor<Self>,
        _: IntTensor<Self>,
        _: IntTensor<Self>,
        weights: FloatTensor<Self>,
        into: FloatTensor<Self>,
        adds: bool,
        factor: f64,
        by_row: Vec<f32>,
        tape: Tape,
    ) -> FloatTensor<Self> {
        let program = tape.program().clone();
        let [parameters, weights] = [parameters, weights].map(|tensor| tensor.to_contiguous());
        // In place, unless somebody else still looks at it: so nothing of it is held here. What is not added to is a tensor of the caller's
        // that must stay.
        let mut sum = if adds {
            let whole = into.to_contiguous();
            drop(into);
            whole
        } else {
            let vectors = if by_row.is_empty() { 1 } else { 2 };
            FloatTensor::<Self>::empty([vectors * program.parameters].into(), DType::F32)
        };
        let reads = Reads {
            program: &program,
            parameters: floats(&parameters),
            weights: floats(&weights),
        };
        let (plain, weighed) = sum.storage_mut().split_at_mut(program.parameters);
        let plain = Gradient {
            share: Share {
                factor: to_f32(factor),
                adds,
            },
            flat: plain,
        };
        let mut gradients = if by_row.is_empty() {
            Gradients::One(plain)
        } else {
            Gradients::ByRow {
                plain,
                weighed,
                by_row: &by_row,
            }
        };
        tape.with(|memory: &mut Memory| {
            for op in &program.backward {
                memory.work(op, &reads, Some(&mut gradients));
            }
        });
        sum
    }
}

fn floats(tensor: &FloatTensor<Flex>) -> &[f32] {
    tensor.as_slice().unwrap_or_default()
}

/// The device's integers may have 32 or 64 bits.
fn copy_integers(from: &IntTensor<Flex>, to: &mut Vec<i32>) {
    let from = from.to_contiguous();
    to.clear();
    if let Some(integers) = from.as_slice::<i32>() {
        to.extend_from_slice(integers);
    } else if let Some(integers) = from.as_slice::<i64>() {
        to.extend(integers.iter().map(|&integer| i32::try_from(integer).unwrap_or(-1)));
    }
}

fn part(parameters: &[f32], offset: usize, length: usize) -> &[f32] {
    &parameters[offset..offset + length]
}

fn weight(parameters: &[f32], matrix: Matrix) -> Weight<'_> {
    let Matrix {
        offset,
        inputs,
        outputs,
        by_output,
    } = matrix;
    Weight {
        data: part(parameters, offset, inputs * outputs),
        inputs,
        outputs,
        by_output,
    }
}

impl Memory {
    /// Makes every region as long as the list says; what was allocated stays, and nothing is allocated beyond that.
    fn fit(&mut self, program: &Program) {
        self.regions.resize_with(program.regions.len(), Vec::new);
        for (region, &length) in self.regions.iter_mut().zip(&program.regions) {
            if region.capacity() < length {
                // The old one goes before the new one is made.
                *region = Vec::new();
                *region = vec![0.0; length];
            }
            region.resize(length, 0.0);
        }
    }

    fn take(&mut self, region: Region) -> Vec<f32> {
        std::mem::take(&mut self.regions[region.0])
    }

    fn put(&mut self, region: Region, values: Vec<f32>) {
        self.regions[region.0] = values;
    }

    fn at(&self, region: Region) -> &[f32] {
        &self.regions[region.0]
    }

    /// One operation. What it writes is out of its region meanwhile, so that the others can be read.
    fn work(&mut self, op: &Op, reads: &Reads, into: Option<&mut Gradients>) {
        match op {
            Op::Embed { .. } | Op::LayerNorm { .. } | Op::Affine { .. } | Op::Attention { .. } | Op::Loss { .. } => {
                self.forward(op, reads);
            }
            Op::Weights(gradients) => {
                if let Some(into) = into {
                    for of in gradients {
                        self.weight_gradient(of, reads, into);
                    }
                }
            }
            // Named, so that a new operation is missed here and not passed over.
            Op::LossBackward { .. }
            | Op::AffineInput { .. }
            | Op::LayerNormInput { .. }
            | Op::AttentionBackward { .. } => self.backward(op, reads),
        }
    }
}

fn heads_of(reads: &Reads, heads: usize, size: usize) -> Heads {
    Heads {
        columns: reads.program.columns,
        heads,
        size,
    }
}
