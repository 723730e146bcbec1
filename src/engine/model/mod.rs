//! The networks. Each sees its parameters as one flat vector, cut into tensors in a documented order, and the tokens of one padded
//! microbatch; it answers with the logits of every position.

pub mod batch_norm;
pub mod layers;
mod line;
mod mode;
mod token_mlp;
mod transformer;

use std::ops::Range;

use burn::tensor::Tensor;

use crate::{
    batch::oracle::{MlpShape, TransformerShape},
    engine::microbatch::Inputs,
    setup::{Model, Setup},
};

pub use line::LineShape;
pub use mode::Mode;

/// A network and its sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Position by position; see [`MlpShape`] for the order of parameters.
    TokenMlp(MlpShape),
    /// Causal; see [`TransformerShape`] for the order of parameters.
    Transformer(TransformerShape),
    /// One matrix times the token's number; see [`LineShape`].
    Line(LineShape),
}

impl Network {
    /// The network that `model` asks for, over `vocab` tokens, padding included.
    pub fn new(model: Model, vocab: usize) -> Self {
        let size = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
        match model {
            Model::TokenMlp { embed, hidden } => Self::TokenMlp(MlpShape {
                vocab,
                embed: size(embed),
                hidden: size(hidden),
                batch_norm: false,
            }),
            Model::Transformer {
                width,
                layers,
                heads,
                context,
            } => Self::Transformer(TransformerShape {
                vocab,
                width: size(width),
                layers: size(layers),
                heads: size(heads),
                context: size(context),
            }),
        }
    }

    /// The network that `setup` asks for, its BatchNorm included, over `vocab` tokens.
    pub fn of(setup: &Setup, vocab: usize) -> Self {
        match Self::new(setup.model, vocab) {
            Self::TokenMlp(shape) => Self::TokenMlp(MlpShape {
                batch_norm: setup.batch_norm.is_some(),
                ..shape
            }),
            other => other,
        }
    }

    /// Rows and columns of every tensor, in order; vectors have one row.
    pub fn tensors(&self) -> Vec<(usize, usize)> {
        match self {
            Self::TokenMlp(s) => s.tensors(),
            Self::Transformer(s) => s.tensors(),
            Self::Line(s) => vec![(s.outputs, 1)],
        }
    }

    /// All parameters.
    pub fn parameters(&self) -> usize {
        self.tensors().iter().map(|(rows, columns)| rows * columns).sum()
    }

    /// Where each tensor lies in the flat vector.
    pub fn ranges(&self) -> Vec<Range<usize>> {
        let mut start = 0;
        let lengths = self.tensors().into_iter().map(|(rows, columns)| rows * columns);
        lengths
            .map(|length| {
                start += length;
                start - length..start
            })
            .collect()
    }

    /// Possible labels: the columns of the logits.
    pub fn outputs(&self) -> usize {
        match self {
            Self::TokenMlp(s) => s.vocab,
            Self::Transformer(s) => s.vocab,
            Self::Line(s) => s.outputs,
        }
    }

    /// The longest example it takes; `None` where any length will do.
    pub fn longest(&self) -> Option<usize> {
        match self {
            Self::Transformer(s) => Some(s.context),
            Self::TokenMlp(_) | Self::Line(_) => None,
        }
    }

    /// The width of what each dropout multiplies, in order of the forward.
    pub fn dropout_widths(&self) -> Vec<usize> {
        match self {
            Self::TokenMlp(s) => vec![s.hidden],
            Self::Transformer(s) => vec![s.width; 2 * s.layers],
            Self::Line(_) => Vec::new(),
        }
    }

    /// Features of its BatchNorm; `None` without one.
    pub fn norm_features(&self) -> Option<usize> {
        match self {
            Self::TokenMlp(s) if s.batch_norm => Some(s.hidden),
            _ => None,
        }
    }

    /// Logits of every position, `rows * width` x outputs. `leaves` are the tensors of [`Self::tensors`], in order.
    pub(super) fn logits(&self, leaves: Vec<Tensor<2>>, inputs: &Inputs, mode: &mut Mode) -> Tensor<2> {
        let mut leaves = Leaves(leaves.into_iter());
        match self {
            Self::TokenMlp(shape) => token_mlp::logits(*shape, &mut leaves, inputs, mode),
            Self::Transformer(shape) => transformer::logits(*shape, &mut leaves, inputs, mode),
            Self::Line(_) => line::logits(&mut leaves, inputs),
        }
    }
}

/// The tensors of a network, taken one after another.
struct Leaves(std::vec::IntoIter<Tensor<2>>);

impl Leaves {
    #[expect(
        clippy::expect_used,
        reason = "as many are made as Network::tensors lists, and each network takes just those"
    )]
    fn next(&mut self) -> Tensor<2> {
        self.0.next().expect("a network takes no more tensors than it lists")
    }
}
