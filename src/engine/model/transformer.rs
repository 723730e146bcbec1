//! A causal pre-LN transformer with learned positions, exact GELU and an untied head without bias. Dropout comes
//! after the output of attention and after that of the MLP, before each is added to the residual stream, which is never rounded itself.

use burn::tensor::Tensor;

use super::{
    Leaves, Mode,
    layers::{self, Layout},
};
use crate::{batch::oracle::TransformerShape, engine::microbatch::Inputs};

pub(super) fn logits(shape: TransformerShape, leaves: &mut Leaves, inputs: &Inputs, mode: &mut Mode) -> Tensor<2> {
    let [rows, columns] = inputs.shape();
    let (words, places) = (leaves.next(), leaves.next());
    let words = words
        .select(0, inputs.tokens().clone().reshape([rows * columns]))
        .reshape([rows, columns, shape.width]);
    let places = places.slice([0..columns, 0..shape.width]).unsqueeze::<3>();
    let mut x = (words + places).reshape([rows * columns, shape.width]);
    for _ in 0..shape.layers {
        let normed = layer_norm(x.clone(), leaves, mode);
        let qkv = affine(normed, leaves, mode);
        let mixed = mode.layer(layers::attention(qkv, columns, shape.heads, || inputs.later().clone()));
        let projected = affine(mixed, leaves, mode);
        x = x + mode.dropout(projected);
        let normed = layer_norm(x.clone(), leaves, mode);
        let active = mode.layer(layers::gelu(affine(normed, leaves, mode)));
        let down = affine(active, leaves, mode);
        x = x + mode.dropout(down);
    }
    let normed = layer_norm(x, leaves, mode);
    let nothing = Tensor::zeros([1, shape.vocab], &inputs.tokens().device());
    mode.layer(layers::affine(normed, leaves.next(), nothing, Layout::ByInput))
}

fn affine(x: Tensor<2>, leaves: &mut Leaves, mode: &Mode) -> Tensor<2> {
    mode.layer(layers::affine(x, leaves.next(), leaves.next(), Layout::ByInput))
}

fn layer_norm(x: Tensor<2>, leaves: &mut Leaves, mode: &Mode) -> Tensor<2> {
    mode.layer(layers::layer_norm(x, leaves.next(), leaves.next()))
}
