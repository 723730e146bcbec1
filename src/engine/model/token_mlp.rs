//! `logits = fc2 @ tanh(norm(fc1 @ embed[token] + b1)) + b2`, position by position but for the BatchNorm `norm`, which it may have or not.
//! Dropout comes after the tanh.

use burn::tensor::Tensor;

use super::{
    Leaves, Mode,
    batch_norm::batch_norm,
    layers::{self, Layout},
};
use crate::{batch::oracle::MlpShape, engine::microbatch::Inputs};

pub(super) fn logits(shape: MlpShape, leaves: &mut Leaves, inputs: &Inputs, mode: &mut Mode) -> Tensor<2> {
    let [rows, width] = inputs.shape();
    let embed = leaves.next();
    let x = embed.select(0, inputs.tokens().clone().reshape([rows * width]));
    let mut hidden = mode.layer(layers::affine(x, leaves.next(), leaves.next(), Layout::ByOutput));
    if shape.batch_norm {
        let (normed, statistics) = batch_norm(hidden, leaves.next(), leaves.next(), &inputs.real);
        mode.saw(statistics);
        hidden = mode.layer(normed);
    }
    let active = mode.layer(hidden.tanh());
    let active = mode.dropout(active);
    mode.layer(layers::affine(active, leaves.next(), leaves.next(), Layout::ByOutput))
}
