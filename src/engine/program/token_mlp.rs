//! The token MLP, as [`MlpShape`] orders its parameters.

use super::{Builder, Op, Region, Slope, Then, WeightGradient};
use crate::batch::oracle::MlpShape;

/// Writes the list; gives the losses.
pub(super) fn write(shape: MlpShape, to: &mut Builder) -> Region {
    let MlpShape {
        vocab, embed, hidden, ..
    } = shape;
    let words = to.parameters(vocab * embed);
    let (first, first_bias) = (to.matrix(embed, hidden, true), to.parameters(hidden));
    let (second, second_bias) = (to.matrix(hidden, vocab, true), to.parameters(vocab));
    let [x, active, logits, losses] = [embed, hidden, vocab, 1].map(|width| to.region(width));
    to.forward = vec![
        Op::Embed {
            words,
            places: None,
            width: embed,
            out: x,
        },
        Op::Affine {
            x,
            matrix: first,
            bias: Some(first_bias),
            out: active,
            then: Then::Tanh,
        },
        Op::Affine {
            x: active,
            matrix: second,
            bias: Some(second_bias),
            out: logits,
            then: Then::Keep,
        },
        Op::Loss {
            logits,
            classes: vocab,
            losses,
        },
    ];
    let [d_hidden, d_x] = [hidden, embed].map(|width| to.region(width));
    to.backward.push(Op::LossBackward { logits, classes: vocab });
    to.weights(WeightGradient::Affine {
        x: active,
        d_y: logits,
        matrix: second,
        bias: Some(second_bias),
    });
    to.backward.push(Op::AffineInput {
        d_y: logits,
        matrix: second,
        out: d_hidden,
        slope: Slope::Tanh(active),
    });
    to.weights(WeightGradient::Affine {
        x,
        d_y: d_hidden,
        matrix: first,
        bias: Some(first_bias),
    });
    to.backward.push(Op::AffineInput {
        d_y: d_hidden,
        matrix: first,
        out: d_x,
        slope: Slope::One,
    });
    to.weights(WeightGradient::Words {
        d_x,
        words,
        count: vocab,
        width: embed,
    });
    losses
}
