//! The causal transformer, as [`TransformerShape`] orders its parameters.

use super::{Builder, Matrix, Op, Region, Slope, Then, WeightGradient};
use crate::batch::oracle::TransformerShape;

/// One LayerNorm: its parameters, and what it read and kept.
struct Norm {
    gain: usize,
    bias: usize,
    x: Region,
    moments: Region,
    out: Region,
}

/// One Linear layer's parameters.
#[derive(Clone, Copy)]
struct Linear {
    matrix: Matrix,
    bias: Option<usize>,
}

/// What a block's backward needs of its forward.
struct Block {
    first: Norm,
    qkv: Linear,
    queries: Region,
    kept: Region,
    mixed: Region,
    out: Linear,
    second: Norm,
    up: Linear,
    raised: Region,
    active: Region,
    down: Linear,
}

/// Writes the list; gives the losses.
pub(super) fn write(shape: TransformerShape, to: &mut Builder) -> Region {
    let TransformerShape {
        vocab, width, context, ..
    } = shape;
    let (words, places) = (to.parameters(vocab * width), to.parameters(context * width));
    let mut x = to.region(width);
    to.forward.push(Op::Embed {
        words,
        places: Some(places),
        width,
        out: x,
    });
    let blocks: Vec<Block> = (0..shape.layers).map(|_| block(shape, &mut x, to)).collect();
    let last = norm(x, width, to);
    let head = Linear {
        matrix: to.matrix(width, vocab, false),
        bias: None,
    };
    let logits = affine(last.out, head, Then::Keep, to);
    let losses = to.region(1);
    to.forward.push(Op::Loss {
        logits,
        classes: vocab,
        losses,
    });

    to.backward.push(Op::LossBackward { logits, classes: vocab });
    let mut d_x = norm_backward(logits, head, &last, None, to);
    to.release(logits);
    for block in blocks.into_iter().rev() {
        d_x = block_backward(shape, &block, d_x, to);
    }
    to.weights(WeightGradient::Words {
        d_x,
        words,
        count: vocab,
        width,
    });
    to.weights(WeightGradient::Places {
        d_x,
        places,
        count: context,
        width,
    });
    losses
}

fn norm(x: Region, width: usize, to: &mut Builder) -> Norm {
    let (gain, bias) = (to.parameters(width), to.parameters(width));
    let (out, moments) = (to.region(width), to.region(2));
    to.forward.push(Op::LayerNorm {
        x,
        gain,
        bias,
        width,
        out,
        moments,
    });
    Norm {
        gain,
        bias,
        x,
        moments,
        out,
    }
}

fn linear(inputs: usize, outputs: usize, to: &mut Builder) -> Linear {
    Linear {
        matrix: to.matrix(inputs, outputs, false),
        bias: Some(to.parameters(outputs)),
    }
}

fn affine(x: Region, linear: Linear, then: Then, to: &mut Builder) -> Region {
    let out = to.region(linear.matrix.outputs);
    to.forward.push(Op::Affine {
        x,
        matrix: linear.matrix,
        bias: linear.bias,
        out,
        then,
    });
    out
}

fn block(shape: TransformerShape, x: &mut Region, to: &mut Builder) -> Block {
    let TransformerShape { width, heads, .. } = shape;
    let first = norm(*x, width, to);
    let qkv = linear(width, 3 * width, to);
    let queries = affine(first.out, qkv, Then::Keep, to);
    let (mixed, kept) = (to.region(width), to.kept(heads));
    to.forward.push(Op::Attention {
        qkv: queries,
        heads,
        size: width / heads,
        out: mixed,
        kept,
    });
    let out = linear(width, width, to);
    *x = affine(mixed, out, Then::Add(*x), to);
    let second = norm(*x, width, to);
    let (up, active) = (linear(width, 4 * width, to), to.region(4 * width));
    let raised = affine(second.out, up, Then::Gelu(active), to);
    let down = linear(4 * width, width, to);
    *x = affine(active, down, Then::Add(*x), to);
    Block {
        first,
        qkv,
        queries,
        kept,
        mixed,
        out,
        second,
        up,
        raised,
        active,
        down,
    }
}

/// From the gradient of the residual stream after the block to that before it.
fn block_backward(shape: TransformerShape, block: &Block, d_x: Region, to: &mut Builder) -> Region {
    let heads = shape.heads;
    weights(block.active, d_x, block.down, to);
    let d_raised = input(d_x, block.down, Slope::Gelu(block.raised), to);
    let d_middle = norm_backward(d_raised, block.up, &block.second, Some(d_x), to);
    to.release(d_raised);
    to.release(d_x);

    weights(block.mixed, d_middle, block.out, to);
    let d_mixed = input(d_middle, block.out, Slope::One, to);
    let (d_qkv, scratch) = (to.region(3 * shape.width), to.kept(heads));
    to.backward.push(Op::AttentionBackward {
        qkv: block.queries,
        mixed: block.mixed,
        kept: block.kept,
        d_mixed,
        heads,
        size: shape.width / heads,
        d_qkv,
        scratch,
    });
    to.release_now(d_mixed);
    to.release_now(scratch);
    let d_in = norm_backward(d_qkv, block.qkv, &block.first, Some(d_middle), to);
    to.release(d_qkv);
    to.release(d_middle);
    d_in
}

fn weights(x: Region, d_y: Region, linear: Linear, to: &mut Builder) {
    to.weights(WeightGradient::Affine {
        x,
        d_y,
        matrix: linear.matrix,
        bias: linear.bias,
    });
}

fn input(d_y: Region, linear: Linear, slope: Slope, to: &mut Builder) -> Region {
    let out = to.region(linear.matrix.inputs);
    to.backward.push(Op::AffineInput {
        d_y,
        matrix: linear.matrix,
        out,
        slope,
    });
    out
}

/// Back through a Linear layer and the LayerNorm before it, to the residual stream, whose own gradient is `add`.
fn norm_backward(d_y: Region, linear: Linear, norm: &Norm, add: Option<Region>, to: &mut Builder) -> Region {
    let width = linear.matrix.inputs;
    weights(norm.out, d_y, linear, to);
    let d_normed = input(d_y, linear, Slope::One, to);
    to.weights(WeightGradient::LayerNorm {
        d_y: d_normed,
        x: norm.x,
        moments: norm.moments,
        gain: norm.gain,
        bias: norm.bias,
        width,
    });
    let out = to.region(width);
    to.backward.push(Op::LayerNormInput {
        d_y: d_normed,
        x: norm.x,
        moments: norm.moments,
        gain: norm.gain,
        width,
        add,
        out,
    });
    to.release(d_normed);
    out
}
