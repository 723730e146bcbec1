//! A causal pre-LN transformer with learned positions, exact GELU and an untied head without bias.

use burn::tensor::{Tensor, activation};

use super::Leaves;
use crate::batch::oracle::{TransformerShape, transformer::LAYER_NORM_EPS};
use crate::engine::microbatch::Inputs;

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
        let mixed = attend(shape, [rows, columns], qkv, inputs.later());
        x = x + affine(mixed, leaves);
        let normed = layer_norm(x.clone(), leaves);
        let active = activation::gelu(affine(normed, leaves));
        x = x + affine(active, leaves);
    }
    layer_norm(x, leaves).matmul(leaves.next())
}

fn affine(x: Tensor<2>, leaves: &mut Leaves) -> Tensor<2> {
    let (weight, bias) = (leaves.next(), leaves.next());
    x.matmul(weight) + bias
}

fn layer_norm(x: Tensor<2>, leaves: &mut Leaves) -> Tensor<2> {
    let (gain, bias) = (leaves.next(), leaves.next());
    let centred = x.clone() - x.mean_dim(1);
    let variance = centred.clone().square().mean_dim(1);
    centred / (variance + LAYER_NORM_EPS).sqrt() * gain + bias
}

/// Softmax attention of every position over itself and the positions before it; `later` is added to the scores.
fn attend(shape: TransformerShape, [rows, columns]: [usize; 2], qkv: Tensor<2>, later: &Tensor<2>) -> Tensor<2> {
    let size = shape.width / shape.heads;
    let qkv = qkv
        .reshape([rows, columns, 3, shape.heads, size])
        .permute([2, 0, 3, 1, 4]);
    let part = |which: usize| {
        qkv.clone()
            .slice([which..which + 1])
            .reshape([rows, shape.heads, columns, size])
    };
    let (q, k, v) = (part(0), part(1), part(2));
    let scores = q.matmul(k.transpose()) / (size as f64).sqrt();
    let attention = activation::softmax(scores + later.clone().unsqueeze::<4>(), 3);
    attention
        .matmul(v)
        .permute([0, 2, 1, 3])
        .reshape([rows * columns, shape.width])
}
