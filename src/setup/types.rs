//! The parsed experiment: every value in it is usable as it stands.

use serde::{Deserialize, Serialize};

use crate::batch::{
    LaneRule, LastGroup, Schedule, Sharding, Split, Unit, oracle::batch_norm::Momentum, scaler::ScalerConfig,
};

/// One experiment. Made by [`crate::setup::parse::parse`]; the same Setup on the same device gives the same numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// m, A, D.
    pub split: Split,
    /// Which replica sees which example of a group.
    pub sharding: Sharding,
    /// Whether the first examples are repeated until D divides their number.
    pub sampler_padding: bool,
    /// What happens to a last partial group.
    pub last_group: LastGroup,
    /// Whether examples are shuffled anew each epoch.
    pub shuffle: bool,
    /// What is learnt.
    pub data: Data,
    /// How long examples are.
    pub lengths: Lengths,
    /// The network.
    pub model: Model,
    /// How its output layer starts.
    pub start: Start,
    /// The optimizer.
    pub optimizer: Optimizer,
    /// The learning rate.
    pub schedule: Schedule,
    /// What counts as one step of the schedule.
    pub schedule_unit: Unit,
    /// Largest norm of the whole gradient; `None` for no clipping.
    pub clip_norm: Option<f64>,
    /// How numbers are rounded on the way.
    pub precision: Precision,
    /// Dynamic loss scaling; `None` for none.
    pub loss_scale: Option<ScalerConfig>,
    /// Where an infinity is put into a gradient.
    pub inject_inf: Vec<Injection>,
    /// Dropout after the hidden layer (token MLP) or after attention and MLP of each block (transformer); `None` for none.
    pub dropout: Option<Dropout>,
    /// BatchNorm over the positions of each microbatch, before the hidden layer's tanh; `None` for none. Token MLP only.
    pub batch_norm: Option<Momentum>,
    /// 1 to 4 lanes that train side by side, the first is the one the others are compared with.
    pub lanes: Vec<LaneRule>,
    /// Relative difference below which two gradients count as close.
    pub tolerance: f64,
    /// Bytes in use at which a run is stopped.
    pub memory_limit: u64,
    /// The seed of all randomness.
    pub seed: u32,
    /// When the run ends.
    pub budget: Budget,
}

/// Where examples come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Data {
    /// Generated from the seed.
    Task {
        /// What is generated.
        task: Task,
        /// How many examples make one epoch.
        examples: u32,
    },
    /// The person's own file; its text travels beside the Setup, never in a link.
    Own {
        /// How it is read.
        format: OwnFormat,
        /// Its name, shown and matched when a link asks for it.
        name: String,
    },
}

/// A generated task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// `abc=abc`, the part after `=` supervised.
    Copy,
    /// `abc=cba`.
    Reverse,
    /// `bca=abc`.
    Sort,
    /// `38+7=45`, only the answer supervised.
    Addition,
    /// Each example repeats one letter at every position, all supervised: `s` in the first, third, ... example, `l` in the others.
    /// With lengths "512, 1536" the short source and the long source have known token counts.
    TwoSources,
}

impl Task {
    /// All tasks.
    pub const ALL: [Self; 5] = [Self::Copy, Self::Reverse, Self::Sort, Self::Addition, Self::TwoSources];
}

/// How a person's file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnFormat {
    /// Plain text, cut into windows; all positions supervised.
    Text,
    /// JSON lines with `prompt` and `completion`; the completion is supervised.
    Jsonl,
}

/// How long examples are, in positions (input tokens).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lengths {
    /// As the data has them.
    AsInData,
    /// Example i has the i-th length, cyclically. Typed, or read from a file.
    List(Vec<u32>),
    /// Evenly between two lengths, both included.
    Uniform {
        /// Shortest.
        min: u32,
        /// Longest.
        max: u32,
    },
    /// Log-normal, cut at the model's longest.
    LogNormal {
        /// Half the examples are shorter.
        median: u32,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// Short ones and long ones, each within a quarter of its centre.
    TwoHumped {
        /// Centre of the short ones.
        short: u32,
        /// Centre of the long ones.
        long: u32,
        /// Share of long ones, 0 to 1.
        long_share: f64,
    },
}

/// The network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// Embedding, one tanh layer, vocabulary logits, position by position: works at any length.
    TokenMlp {
        /// Width of the embedding.
        embed: u32,
        /// Width of the hidden layer.
        hidden: u32,
    },
    /// Small pre-LN causal transformer, learned positions, exact GELU with a 4x MLP, untied head without bias.
    Transformer {
        /// Width of the residual stream.
        width: u32,
        /// Blocks.
        layers: u32,
        /// Attention heads; divides the width.
        heads: u32,
        /// Longest length it takes.
        context: u32,
    },
}

/// How the output layer starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// Random, as the other layers.
    Random,
    /// Output weights 0 and biases such that each named letter has the given loss at the start; the rest share what is left.
    KnownLosses(Vec<(char, f64)>),
}

/// The optimizer, as torch.optim defines it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Optimizer {
    /// SGD.
    Sgd {
        /// 0 for none.
        momentum: f64,
    },
    /// AdamW, eps 1e-8.
    AdamW {
        /// Decay of the first moment.
        beta1: f64,
        /// Decay of the second moment.
        beta2: f64,
        /// Decoupled decay.
        weight_decay: f64,
    },
}

/// AdamW's eps, torch's default.
pub const ADAMW_EPS: f64 = 1e-8;

/// When a run ends: at the first group boundary where the first lane's count reaches `amount`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Applied updates, examples or supervised tokens.
    pub unit: Unit,
    /// How many.
    pub amount: u64,
}

/// How numbers are rounded on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// As the device computes.
    #[default]
    F32,
    /// Activations and their gradients are rounded to half precision after each layer, overflow to infinity and underflow included;
    /// parameters and sums stay f32.
    F16,
}

/// An infinity put into one gradient, to see the whole update skipped. All are counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Injection {
    pub attempt: u64,
    pub microbatch: u32,
    pub replica: u32,
}

/// Dropout.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dropout {
    /// Share of values set to 0; the others are divided by what is left.
    pub rate: f64,
    /// In which order random numbers are drawn.
    pub order: DropoutOrder,
}

/// In which order dropout draws its random numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DropoutOrder {
    /// One generator a replica, drawn from microbatch after microbatch, as torch does: another split draws other masks.
    #[default]
    Stream,
    /// A generator for each example, epoch and layer: no split changes a mask.
    ByExample,
}
