//! One example, and a microbatch padded to its own longest example.

use serde::{Deserialize, Serialize};

/// A label that is not scored, PyTorch's default `ignore_index`.
pub const IGNORE_INDEX: i32 = -100;

/// The token that fills a row after its example ends. It is never a label.
pub const PAD_ID: u32 = 0;

/// Which example of the data set this is; stable for a whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExampleId(pub u32);

/// Whether this token stands for something, and does not only fill a row.
pub const fn holds_token(token: u32) -> bool {
    token != PAD_ID
}

/// A token sequence and what is scored at each of its positions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// Its place in the data set.
    pub id: ExampleId,
    /// Input tokens, one a position.
    pub tokens: Vec<u32>,
    /// The next token at each position, or [`IGNORE_INDEX`]. Same length as `tokens`.
    pub labels: Vec<i32>,
}

impl Example {
    /// Positions, supervised or not.
    pub fn length(&self) -> usize {
        self.tokens.len()
    }

    /// Positions whose label is scored.
    pub fn supervised(&self) -> u64 {
        self.labels.iter().filter(|&&label| label != IGNORE_INDEX).count() as u64
    }
}

/// A microbatch as the model sees it: `rows` x `width`, row-major.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaddedBatch {
    /// Which example stands in each row.
    pub ids: Vec<ExampleId>,
    /// The longest example, at least 1.
    pub width: usize,
    /// `rows * width` tokens; [`PAD_ID`] after an example's end.
    pub tokens: Vec<u32>,
    /// `rows * width` labels; [`IGNORE_INDEX`] after an example's end.
    pub labels: Vec<i32>,
}

impl PaddedBatch {
    /// Pads to the longest of `examples`.
    pub fn new(examples: &[&Example]) -> Self {
        let width = examples.iter().map(|e| e.length()).max().unwrap_or(0).max(1);
        let mut tokens = Vec::with_capacity(examples.len() * width);
        let mut labels = Vec::with_capacity(examples.len() * width);
        for example in examples {
            let fill = width - example.length();
            tokens.extend_from_slice(&example.tokens);
            tokens.extend(std::iter::repeat_n(PAD_ID, fill));
            labels.extend_from_slice(&example.labels);
            labels.extend(std::iter::repeat_n(IGNORE_INDEX, fill));
        }
        Self {
            ids: examples.iter().map(|e| e.id).collect(),
            width,
            tokens,
            labels,
        }
    }

    /// Pads the examples named by `ids`; `examples[i]` must have ID i.
    pub fn of(examples: &[Example], ids: &[ExampleId]) -> Self {
        let rows: Vec<&Example> = ids
            .iter()
            .filter_map(|id| usize::try_from(id.0).ok().and_then(|i| examples.get(i)))
            .collect();
        Self::new(&rows)
    }

    /// Examples in this microbatch.
    pub fn rows(&self) -> usize {
        self.ids.len()
    }

    /// Positions whose label is scored.
    pub fn supervised(&self) -> u64 {
        self.labels.iter().filter(|&&label| label != IGNORE_INDEX).count() as u64
    }
}
