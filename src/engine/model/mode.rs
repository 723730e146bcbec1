//! What a forward needs beside parameters and tokens, and what it leaves behind beside logits.

use burn::tensor::Tensor;

use super::{batch_norm::BatchStatistics, layers};
use crate::{engine::program::Workspace, setup::Precision};

/// One forward's way. The default rounds nothing and drops nothing. A clone, made before the forward, lets another forward go the same way.
#[derive(Clone, Default)]
pub struct Mode {
    precision: Precision,
    masks: std::vec::IntoIter<Tensor<2>>,
    statistics: Option<BatchStatistics>,
    workspace: Workspace,
}

impl Mode {
    /// `masks` are what dropout multiplies by, positions x width, one for each place of the network in order of the forward (see
    /// [`super::Network::dropout_widths`]); none for no dropout. `workspace` is of the same network and device.
    pub fn new(precision: Precision, masks: Vec<Tensor<2>>, workspace: Workspace) -> Self {
        Self {
            precision,
            masks: masks.into_iter(),
            statistics: None,
            workspace,
        }
    }

    /// Where a network's list is worked off, see [`crate::engine::program`]; `None` where something is on the way that lists do not know.
    pub fn workspace(&self) -> Option<&Workspace> {
        let plain = self.precision == Precision::F32 && self.masks.as_slice().is_empty();
        plain.then_some(&self.workspace)
    }

    /// What BatchNorm saw in this forward, once it is done; `None` without BatchNorm.
    pub fn take_statistics(&mut self) -> Option<BatchStatistics> {
        self.statistics.take()
    }

    /// A layer's output as the next layer sees it. What comes back to it is rounded likewise.
    pub(super) fn layer(&self, x: Tensor<2>) -> Tensor<2> {
        match self.precision {
            Precision::F32 => x,
            Precision::F16 => layers::half(x),
        }
    }

    /// Dropout at the next place; the product is an activation of its own.
    pub(super) fn dropout(&mut self, x: Tensor<2>) -> Tensor<2> {
        match self.masks.next() {
            Some(mask) => self.layer(x * mask),
            None => x,
        }
    }

    pub(super) fn saw(&mut self, statistics: BatchStatistics) {
        self.statistics = Some(statistics);
    }
}
