//! How tokens weigh inside a microbatch, and several microbatches as one.

use crate::batch::{IGNORE_INDEX, PAD_ID, PaddedBatch, TokenWeights, oracle::row_weights};

/// The weights of a microbatch's scored tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Inside {
    /// None is scored.
    Nothing,
    /// All have this one.
    All(f64),
    /// They differ.
    Mixed,
}

impl Inside {
    pub(super) fn of(weights: TokenWeights, batch: &PaddedBatch) -> Self {
        let mut scored = row_weights(weights, batch).flatten();
        match scored.next() {
            None => Self::Nothing,
            Some(first) if scored.all(|other| other.to_bits() == first.to_bits()) => Self::All(first),
            Some(_) => Self::Mixed,
        }
    }
}

/// What each row's loss sum is multiplied by; 0 where a row has nothing scored.
pub(super) fn by_row(weights: TokenWeights, batch: &PaddedBatch) -> Vec<f64> {
    row_weights(weights, batch)
        .map(|weight| weight.unwrap_or(0.0))
        .collect()
}

/// All rows of some microbatches, padded to the widest.
pub(super) fn joined(batches: &[&PaddedBatch]) -> PaddedBatch {
    let width = batches.iter().map(|batch| batch.width).max().unwrap_or(1);
    let mut all = PaddedBatch {
        ids: Vec::new(),
        width,
        tokens: Vec::new(),
        labels: Vec::new(),
    };
    for batch in batches {
        let fill = width - batch.width;
        all.ids.extend_from_slice(&batch.ids);
        for row in batch.tokens.chunks(batch.width) {
            all.tokens.extend_from_slice(row);
            all.tokens.extend(std::iter::repeat_n(PAD_ID, fill));
        }
        for row in batch.labels.chunks(batch.width) {
            all.labels.extend_from_slice(row);
            all.labels.extend(std::iter::repeat_n(IGNORE_INDEX, fill));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{Example, ExampleId};

    fn example(id: u32, length: u32, ignored: u32) -> Example {
        Example {
            id: ExampleId(id),
            tokens: (1..=length).collect(),
            labels: (0..length)
                .map(|t| if t < ignored { IGNORE_INDEX } else { 1 })
                .collect(),
        }
    }

    #[test]
    fn tokens_weigh_alike_where_examples_have_as_many() {
        let examples = [example(0, 5, 2), example(1, 3, 0), example(2, 4, 0), example(3, 2, 2)];
        let batch = |of: &[usize]| PaddedBatch::new(&of.iter().map(|&i| &examples[i]).collect::<Vec<_>>());
        let inside = |of: &[usize]| Inside::of(TokenWeights::ExampleMean, &batch(of));
        assert_eq!(inside(&[0, 1]), Inside::All(1.0 / 3.0));
        assert_eq!(inside(&[0, 2]), Inside::Mixed);
        assert_eq!(inside(&[3]), Inside::Nothing);
        assert_eq!(inside(&[2, 3]), Inside::All(0.25));
        assert_eq!(Inside::of(TokenWeights::Uniform, &batch(&[0, 2])), Inside::All(1.0));
        assert_eq!(
            by_row(TokenWeights::ExampleMean, &batch(&[0, 2, 3])),
            [1.0 / 3.0, 0.25, 0.0]
        );
        let all = PaddedBatch::new(&examples.iter().collect::<Vec<_>>());
        assert_eq!(joined(&[&batch(&[0, 1]), &batch(&[2, 3])]), all);
        assert_eq!(joined(&[&batch(&[1]), &batch(&[0]), &batch(&[3])]), batch(&[1, 0, 3]));
    }
}
