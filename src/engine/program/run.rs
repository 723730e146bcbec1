//! Working a list off, on whichever device the parameters are on. Plugged into burn as a backend extension, so that tensors go in and
//! come out; the graph of burn's autodiff has no part in it, since the list has its own backward.
#![expect(clippy::too_many_arguments, reason = "a backend extension takes tensors one by one")]

use std::sync::Arc;

use burn::{
    backend::{
        Backend, Dispatch, backend_extension,
        tensor::{FloatTensor, IntTensor},
    },
    tensor::Tensor,
};

use super::{Kept, Program, Style, Tape, Workspace};
use crate::{
    batch::{PaddedBatch, TokenWeights},
    engine::{
        Device,
        microbatch::{Microbatch, to_f32},
        model::Network,
    },
};

/// A forward that was worked off, and waits for its backward.
pub struct Recorded {
    parameters: Tensor<1>,
    batch: Batch,
    tape: Tape,
    totals: Tensor<1>,
    weighted: bool,
}

/// What a list reads beside parameters: one entry a position.
#[derive(Clone)]
struct Batch {
    tokens: Tensor<1, burn::tensor::Int>,
    labels: Tensor<1, burn::tensor::Int>,
    scored: Tensor<1>,
    weights: Tensor<1>,
}

/// How lists are written for `device`; `None` where nothing works them off.
fn style_of(device: &Device) -> Option<Style> {
    #[cfg(feature = "cpu")]
    if device.clone().without_autodiff() == Device::flex() {
        return Some(Style {
            kept: Kept::Probabilities,
            weights_at_end: false,
            weighs_rows: true,
            uploads_together: false,
        });
    }
    #[cfg(feature = "gpu")]
    if super::gpu::runs_on(device) {
        return Some(Style {
            kept: Kept::LogSumExp,
            weights_at_end: true,
            weighs_rows: false,
            uploads_together: true,
        });
    }
    let _ = device;
    None
}

/// Whether there is memory for a list in one piece.
fn held(program: &Arc<Program>, style: Style) -> bool {
    #[cfg(feature = "gpu")]
    if style.weights_at_end {
        return super::gpu::holds(program);
    }
    let _ = (program, style);
    true
}

impl Recorded {
    /// The forward of `microbatch` at `parameters`; `None` where network or device has no list.
    pub fn forward(
        network: &Network,
        parameters: &Tensor<1>,
        microbatch: &Microbatch,
        weights: TokenWeights,
        workspace: &Workspace,
    ) -> Option<Self> {
        let style = style_of(&parameters.device())?;
        let [rows, columns] = microbatch.inputs.shape();
        let program = workspace.program(network, rows, columns, style)?;
        if !held(&program, style) {
            return None;
        }
        let tape = workspace.tape(program);
        let listed = microbatch.listed().clone();
        let batch = Batch {
            weights: match weights {
                TokenWeights::Uniform => listed.scored.clone(),
                TokenWeights::ExampleMean => microbatch.weights(weights),
            },
            tokens: listed.tokens,
            labels: listed.labels,
            scored: listed.scored,
        };
        let weighted = weights != TokenWeights::Uniform;
        let totals = {
            let Batch {
                tokens,
                labels,
                scored,
                weights,
            } = batch.clone();
            Tensor::from_dispatch(Dispatch::program_forward(
                parameters.clone().into_dispatch(),
                tokens.into_dispatch(),
                labels.into_dispatch(),
                scored.into_dispatch(),
                weights.into_dispatch(),
                weighted,
                tape.clone(),
            ))
        };
        Some(Self {
            parameters: parameters.clone(),
            batch,
            tape,
            totals,
            weighted,
        })
    }

    /// `[S, count of scored positions]`.
    pub fn loss_sum(&self) -> Tensor<1> {
        if self.weighted {
            self.totals.clone().narrow(0, 2, 2)
        } else {
            self.totals.clone()
        }
    }

    /// `[weighted loss sum, count of scored positions]`.
    pub fn weighted_sum(&self) -> Tensor<1> {
        if self.weighted {
            self.totals.clone().narrow(0, 0, 2)
        } else {
            self.totals.clone()
        }
    }

    /// Whether `device` works off the list of `network` over so many rows and columns.
    pub fn takes(device: &Device, network: &Network, rows: usize, columns: usize) -> bool {
        let Some(style) = style_of(device) else { return false };
        let Some(program) = Program::new(network, rows, columns, style) else {
            return false;
        };
        held(&Arc::new(program), style)
    }

    /// The microbatches of a group, whose tokens go to `device` in one piece where it likes that; `None` where it does not.
    pub fn uploaded(device: &Device, batches: impl IntoIterator<Item = PaddedBatch>) -> Option<Vec<Microbatch>> {
        let together = style_of(device).is_some_and(|style| style.uploads_together);
        together.then(|| Microbatch::together(device, batches))
    }

    /// Whether one backward on `device` can give gradients with two kinds of weights; see [`Self::backward_both`].
    pub fn weighs_rows(device: &Device) -> bool {
        style_of(device).is_some_and(|style| style.weighs_rows)
    }

    /// The gradient of the plain loss sum, and beside it that of the sum with the loss of each row times its number: one backward, since
    /// what goes back along a row is multiplied by its number alone.
    pub fn backward_both(mut self, by_row: &[f64]) -> [Tensor<1>; 2] {
        let parameters = self.tape.program().parameters;
        self.batch.weights = self.batch.scored.clone();
        let both = self.worked_off(None, 1.0, by_row.iter().copied().map(to_f32).collect());
        [0, parameters].map(|from| both.clone().narrow(0, from, parameters))
    }

    /// `into + factor x gradient of the weighted loss sum`; without `into`, that product alone.
    pub fn backward(self, into: Option<Tensor<1>>, factor: f64) -> Tensor<1> {
        self.worked_off(into, factor, Vec::new())
    }

    fn worked_off(self, into: Option<Tensor<1>>, factor: f64, by_row: Vec<f32>) -> Tensor<1> {
        let Batch {
            tokens,
            labels,
            weights,
            ..
        } = self.batch;
        let adds = into.is_some();
        // Without a sum to add to, its place is taken by what has the right size.
        let into = into.unwrap_or_else(|| self.parameters.clone());
        Tensor::from_dispatch(Dispatch::program_backward(
            self.parameters.into_dispatch(),
            tokens.into_dispatch(),
            labels.into_dispatch(),
            weights.into_dispatch(),
            into.into_dispatch(),
            adds,
            factor,
            by_row,
            self.tape,
        ))
    }
}

/// On any device that works lists off.
#[backend_extension(Flex: cfg(feature = "cpu"), Cube: cfg(feature = "gpu"))]
pub trait Programs: Backend {
    /// `[sum of weight x loss, count of scored positions]`; if `weighted`, then also `[sum of loss over scored positions, the same count]`.
    fn program_forward(
        parameters: FloatTensor<Self>,
        tokens: IntTensor<Self>,
        labels: IntTensor<Self>,
        scored: FloatTensor<Self>,
        weights: FloatTensor<Self>,
        weighted: bool,
        tape: Tape,
    ) -> FloatTensor<Self>;

    /// `factor x gradient of sum of weight x loss`, flat, after the forward of the same tape; plus `into` if `adds`, which otherwise is not
    /// read. With numbers `by_row` (and nothing to add to) a second vector follows: the same with each row's share times its number. Only
    /// where [`Recorded::weighs_rows`] says so.
    fn program_backward(
        parameters: FloatTensor<Self>,
        tokens: IntTensor<Self>,
        labels: IntTensor<Self>,
        weights: FloatTensor<Self>,
        into: FloatTensor<Self>,
        adds: bool,
        factor: f64,
        by_row: Vec<f32>,
        tape: Tape,
    ) -> FloatTensor<Self>;
}
