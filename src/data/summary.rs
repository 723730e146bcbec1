//! What the page says about data before it is learnt.

use super::{Corpus, Vocabulary};
use crate::batch::{Example, ExampleId};

/// Most bins of a histogram.
const BINS: u32 = 24;

/// Examples that are shown.
const SAMPLES: usize = 6;

/// Characters of one shown example.
const SAMPLE_CHARACTERS: usize = 80;

/// A data set at a glance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Examples.
    pub count: u64,
    /// Shortest example, in positions.
    pub shortest: u32,
    /// Median length, in positions; the lower of two in the middle.
    pub median: u32,
    /// Longest example, in positions.
    pub longest: u32,
    /// Positions of all examples.
    pub positions: u64,
    /// Supervised tokens of all examples.
    pub supervised: u64,
    /// How many examples have how many positions.
    pub lengths: Vec<Bin>,
    /// How many examples have how many supervised tokens.
    pub supervised_counts: Vec<Bin>,
    /// The first few examples, decoded.
    pub samples: Vec<Sample>,
}

/// One bar of a histogram: how many examples lie from `from` to `to`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "said above")]
pub struct Bin {
    pub from: u32,
    pub to: u32,
    pub examples: u64,
}

/// One example in characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Which.
    pub id: ExampleId,
    /// Its text in stretches that are either given or supervised.
    pub runs: Vec<Run>,
    /// Whether more follows than is shown.
    pub cut: bool,
}

/// A stretch of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its characters.
    pub text: String,
    /// Whether predicting them is scored.
    pub supervised: bool,
}

/// Counts and shows `corpus`.
pub fn summary(corpus: &Corpus) -> Summary {
    let mut lengths: Vec<u32> = corpus
        .examples
        .iter()
        .map(|e| u32::try_from(e.length()).unwrap_or(u32::MAX))
        .collect();
    let mut supervised: Vec<u32> = corpus
        .examples
        .iter()
        .map(|e| u32::try_from(e.supervised()).unwrap_or(u32::MAX))
        .collect();
    lengths.sort_unstable();
    supervised.sort_unstable();
    let middle = lengths.len().saturating_sub(1) / 2;
    Summary {
        count: lengths.len() as u64,
        shortest: lengths.first().copied().unwrap_or(0),
        median: lengths.get(middle).copied().unwrap_or(0),
        longest: lengths.last().copied().unwrap_or(0),
        positions: lengths.iter().copied().map(u64::from).sum(),
        supervised: supervised.iter().copied().map(u64::from).sum(),
        lengths: histogram(&lengths),
        supervised_counts: histogram(&supervised),
        samples: corpus
            .examples
            .iter()
            .take(SAMPLES)
            .map(|e| sample(e, &corpus.vocabulary))
            .collect(),
    }
}

/// Bins of equal width, empty ones included, from the lowest of `sorted` to at least the highest.
fn histogram(sorted: &[u32]) -> Vec<Bin> {
    let (Some(&low), Some(&high)) = (sorted.first(), sorted.last()) else {
        return Vec::new();
    };
    let width = (high - low + 1).div_ceil(BINS);
    let mut bins: Vec<Bin> = (0..=(high - low) / width)
        .map(|bin| Bin {
            from: low + bin * width,
            to: low + bin * width + (width - 1),
            examples: 0,
        })
        .collect();
    for value in sorted {
        if let Some(bin) = bins.get_mut(((value - low) / width) as usize) {
            bin.examples += 1;
        }
    }
    bins
}

/// The first token was never predicted; after it stand the labels, or, where they are ignored, the tokens they would be.
fn sample(example: &Example, vocabulary: &Vocabulary) -> Sample {
    let first = example.tokens.first().map(|&id| (id, false));
    let next = |(place, label): (usize, &i32)| match u32::try_from(*label) {
        Ok(id) => Some((id, true)),
        Err(_) => example.tokens.get(place + 1).map(|&id| (id, false)),
    };
    let followers = example.labels.iter().enumerate().filter_map(next);
    let mut runs: Vec<Run> = Vec::new();
    for (id, supervised) in first.into_iter().chain(followers).take(SAMPLE_CHARACTERS) {
        let character = vocabulary.character(id).unwrap_or(char::REPLACEMENT_CHARACTER);
        match runs.last_mut() {
            Some(run) if run.supervised == supervised => run.text.push(character),
            _ => runs.push(Run {
                text: character.to_string(),
                supervised,
            }),
        }
    }
    Sample {
        id: example.id,
        runs,
        cut: example.length() + 1 > SAMPLE_CHARACTERS,
    }
}
