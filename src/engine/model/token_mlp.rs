//! `logits = fc2 @ tanh(fc1 @ embed[token] + b1) + b2`, position by position.

use burn::tensor::Tensor;

use super::{
    Leaves,
    layers::{self, Layout},
};
use crate::engine::microbatch::Inputs;

pub(super) fn logits(leaves: &mut Leaves, inputs: &Inputs) -> Tensor<2> {
    let [rows, width] = inputs.tokens.dims();
    let (embed, w1, b1, w2, b2) = (
        leaves.next(),
        leaves.next(),
        leaves.next(),
        leaves.next(),
        leaves.next(),
    );
    let x = embed.select(0, inputs.tokens.clone().reshape([rows * width]));
    let hidden = layers::affine(x, w1, b1, Layout::ByOutput).tanh();
    layers::affine(hidden, w2, b2, Layout::ByOutput)
}
