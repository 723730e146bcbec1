//! A causal pre-LN transformer with learned positions, exact GELU and an untied head without bias.

use burn::tensor::Tensor;

use super::{
    Leaves,
    layers::{self, Layout},
};
use crate::{batch::oracle::TransformerShape, engine::microbatch::Inputs};

pub(super) fn logits(shape: TransformerShape, leaves: &mut Leaves, inputs: &Inputs) -> Tensor<2> {
    let [rows, columns] = inputs.tokens.dims();
    let (words, places) = (leaves.next(), leaves.next());
    let words = words
        .select(0, inputs.tokens.clone().reshape([rows * columns]))
        .reshape([rows, columns, shape.width]);
    let places = places.slice([0..columns, 0..shape.width]).unsqueeze::<3>();
    let mut x = (words + places).reshape([rows * columns, shape.width]);
    for _ in 0..shape.layers {
        let normed = layer_norm(x.clone(), leaves);
        let qkv = affine(normed, leaves);
        let mixed = layers::attention(qkv, columns, shape.heads, || inputs.later().clone());
        x = x + affine(mixed, leaves);
        let normed = layer_norm(x.clone(), leaves);
        let active = layers::gelu(affine(normed, leaves));
        x = x + affine(active, leaves);
    }
    let normed = layer_norm(x, leaves);
    let nothing = Tensor::zeros([1, shape.vocab], &inputs.tokens.device());
    layers::affine(normed, leaves.next(), nothing, Layout::ByInput)
}

fn affine(x: Tensor<2>, leaves: &mut Leaves) -> Tensor<2> {
    layers::affine(x, leaves.next(), leaves.next(), Layout::ByInput)
}

fn layer_norm(x: Tensor<2>, leaves: &mut Leaves) -> Tensor<2> {
    layers::layer_norm(x, leaves.next(), leaves.next())
}
