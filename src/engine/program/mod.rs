//! A network's forward and backward over one padded microbatch, written out once as data: which operation reads and writes which region
//! of memory, in which order. Each device that has kernels of its own works the list off; nothing in it depends on the device but what
//! is kept for the backward and when gradients of weights are due.
//!
//! Its twin is the same network in burn's operations, [`super::model::Network::logits`], which also serves what the list does not know:
//! dropout, BatchNorm and half precision.

#[cfg(feature = "cpu")]
mod cpu;
#[cfg(feature = "gpu")]
pub(super) mod gpu;
mod run;
mod tape;
mod token_mlp;
mod transformer;

use super::model::Network;
use crate::batch::oracle::{MlpShape, TransformerShape};
pub use run::{Programs, Recorded};
pub use tape::{Tape, Workspace};

/// A stretch of the working memory, by its number in [`Program::regions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Region(pub usize);

/// The weight of a Linear layer inside the flat parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// Where it begins.
    pub offset: usize,
    /// Inputs.
    pub inputs: usize,
    /// Outputs.
    pub outputs: usize,
    /// Whether it lies [out][in], else [in][out].
    pub by_output: bool,
}

/// What an affine layer does with `x @ weight + bias` before it writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Nothing.
    Keep,
    /// Adds a residual stream.
    Add(Region),
    /// Writes the exact GELU of the sum to the region, and to `out` what its slope is made from: the sum, or the slope itself.
    Gelu(Region),
    /// tanh.
    Tanh,
}

/// What the gradient of a layer's input is multiplied by, element by element, before it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slope {
    /// Nothing.
    One,
    /// The slope of the exact GELU, from what its forward left.
    Gelu(Region),
    /// The slope of tanh, from what came out of it.
    Tanh(Region),
}

/// One operation. Numbers named `gain`, `bias`, `words` and `places` are offsets into the flat parameters. Regions hold one row a position.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the line above each variant says what its fields are")]
pub enum Op {
    /// `out[p] = words[token of p]`, plus `places[p % columns]`.
    Embed {
        words: usize,
        places: Option<usize>,
        width: usize,
        out: Region,
    },
    /// LayerNorm of each row, eps 1e-5; `moments` gets mean and 1 / deviation of each row.
    LayerNorm {
        x: Region,
        gain: usize,
        bias: usize,
        width: usize,
        out: Region,
        moments: Region,
    },
    /// `out = x @ matrix + bias`, and what follows.
    Affine {
        x: Region,
        matrix: Matrix,
        bias: Option<usize>,
        out: Region,
        then: Then,
    },
    /// Causal softmax attention, head by head; `kept` is what its backward needs, see [`Kept`].
    Attention {
        qkv: Region,
        heads: usize,
        size: usize,
        out: Region,
        kept: Region,
    },
    /// Cross-entropy of each position, of whatever label it has.
    Loss {
        logits: Region,
        classes: usize,
        losses: Region,
    },
    /// Turns logits into the gradient of `sum of weight x loss` in place.
    LossBackward { logits: Region, classes: usize },
    /// `out = d_y @ matrix^T`, times a slope.
    AffineInput {
        d_y: Region,
        matrix: Matrix,
        out: Region,
        slope: Slope,
    },
    /// The gradient of LayerNorm's input, plus `add`.
    LayerNormInput {
        d_y: Region,
        x: Region,
        moments: Region,
        gain: usize,
        width: usize,
        add: Option<Region>,
        out: Region,
    },
    /// The gradient of queries, keys and values. `scratch` is as large as `kept`.
    AttentionBackward {
        qkv: Region,
        mixed: Region,
        kept: Region,
        d_mixed: Region,
        heads: usize,
        size: usize,
        d_qkv: Region,
        scratch: Region,
    },
    /// Gradients of parameters, none of which touches what another writes.
    Weights(Vec<WeightGradient>),
}

/// The gradient of one layer's parameters: sums over all positions. Each range of the flat gradient is written by one of these.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the line above each variant says what its fields are")]
pub enum WeightGradient {
    /// Of a Linear layer's weight, and of its bias.
    Affine {
        x: Region,
        d_y: Region,
        matrix: Matrix,
        bias: Option<usize>,
    },
    /// Of LayerNorm's gain and bias.
    LayerNorm {
        d_y: Region,
        x: Region,
        moments: Region,
        gain: usize,
        bias: usize,
        width: usize,
    },
    /// Of an embedding of `count` rows, by token.
    Words {
        d_x: Region,
        words: usize,
        count: usize,
        width: usize,
    },
    /// Of an embedding of `count` rows, by place in the row; rows beyond `columns` get 0.
    Places {
        d_x: Region,
        places: usize,
        count: usize,
        width: usize,
    },
}

/// What attention keeps for its backward, a position and head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Every probability: `columns` numbers.
    Probabilities,
    /// The logarithm of the sum of exponentials, from which they are computed again: one number.
    LogSumExp,
}

/// How a device likes its lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// What attention keeps.
    pub kept: Kept,
    /// Whether all gradients of weights come together at the end of the backward, which takes memory and saves launches; else each comes as
    /// soon as it can, and layers share the memory of their backward.
    pub weights_at_end: bool,
    /// Whether a backward can also give the gradient with each row's share times a number of its own.
    pub weighs_rows: bool,
    /// Whether tokens and masks of a group are sent in one piece: where sending is what takes time, and memory is not counted byte by byte.
    pub uploads_together: bool,
}

/// The list, and the memory that it works in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Numbers in each region.
    pub regions: Vec<usize>,
    /// From tokens to the loss of each position.
    pub forward: Vec<Op>,
    /// From there to the gradient of all parameters.
    pub backward: Vec<Op>,
    /// Rows times columns.
    pub positions: usize,
    /// Positions of one row.
    pub columns: usize,
    /// Where the forward leaves the loss of each position.
    pub losses: Region,
    /// Parameters of the network.
    pub parameters: usize,
}

impl Program {
    /// The list for `network` over `rows` x `columns` positions; `None` for a network that has none.
    pub fn new(network: &Network, rows: usize, columns: usize, style: Style) -> Option<Self> {
        let mut builder = Builder::new(rows * columns, columns, style);
        let losses = match network {
            Network::TokenMlp(shape @ MlpShape { batch_norm: false, .. }) => token_mlp::write(*shape, &mut builder),
            Network::Transformer(shape @ TransformerShape { .. }) => transformer::write(*shape, &mut builder),
            Network::TokenMlp(_) | Network::Line(_) => return None,
        };
        Some(builder.finish(losses, network.parameters()))
    }
}

/// Hands out regions and parameters, and collects operations.
struct Builder {
    positions: usize,
    columns: usize,
    style: Style,
    regions: Vec<usize>,
    /// Regions whose use is over, by length.
    free: Vec<Region>,
    forward: Vec<Op>,
    backward: Vec<Op>,
    weights: Vec<WeightGradient>,
    taken: usize,
}

impl Builder {
    fn new(positions: usize, columns: usize, style: Style) -> Self {
        Self {
            positions,
            columns,
            style,
            regions: Vec::new(),
            free: Vec::new(),
            forward: Vec::new(),
            backward: Vec::new(),
            weights: Vec::new(),
            taken: 0,
        }
    }

    /// The next `count` parameters.
    fn parameters(&mut self, count: usize) -> usize {
        self.taken += count;
        self.taken - count
    }

    fn matrix(&mut self, inputs: usize, outputs: usize, by_output: bool) -> Matrix {
        Matrix {
            offset: self.parameters(inputs * outputs),
            inputs,
            outputs,
            by_output,
        }
    }

    /// A region of `width` numbers a position, in nobody else's use.
    fn region(&mut self, width: usize) -> Region {
        // What is too long for a number is too long for memory, which says so.
        let length = self.positions.saturating_mul(width);
        if let Some(at) = self.free.iter().position(|region| self.regions[region.0] == length) {
            return self.free.swap_remove(at);
        }
        self.regions.push(length);
        Region(self.regions.len() - 1)
    }

    /// What attention keeps, and as much again for its backward.
    fn kept(&mut self, heads: usize) -> Region {
        self.region(match self.style.kept {
            Kept::Probabilities => heads * self.columns,
            Kept::LogSumExp => heads,
        })
    }

    /// Says that nothing reads `region` any more but gradients of weights that were asked for.
    fn release(&mut self, region: Region) {
        if !self.style.weights_at_end {
            self.free.push(region);
        }
    }

    /// The same of a region that no gradient of a weight reads.
    fn release_now(&mut self, region: Region) {
        self.free.push(region);
    }

    fn weights(&mut self, gradient: WeightGradient) {
        if self.style.weights_at_end {
            self.weights.push(gradient);
        } else {
            self.backward.push(Op::Weights(vec![gradient]));
        }
    }

    fn finish(mut self, losses: Region, parameters: usize) -> Program {
        debug_assert_eq!(self.taken, parameters, "the order of parameters is the network's");
        if !self.weights.is_empty() {
            self.backward.push(Op::Weights(self.weights));
        }
        Program {
            regions: self.regions,
            forward: self.forward,
            backward: self.backward,
            positions: self.positions,
            columns: self.columns,
            losses,
            parameters,
        }
    }
}
