//! The small controlled set: a few of the person's own examples, chosen so that a wrong denominator shows.

use crate::{
    batch::{ConventionId, Example, ExampleId, LaneRule, LastGroup, Split, Unit},
    data::Corpus,
    setup::{Budget, Injection, Setup},
};

/// The most of m, A and D that the check keeps: with two of each, microbatches, accumulation and replicas can all go wrong.
const MOST: u32 = 2;

/// The person's own setup with a small split and the full batch in one pass before its lanes, for groups of the examples in order.
/// `skips` is the attempt that an infinity ends, where one does.
pub(super) fn setup(whole: &Setup, split: Split, skips: Option<u64>) -> Setup {
    let mut lanes: Vec<LaneRule> = vec![ConventionId::FullBatch.into()];
    lanes.extend(&whole.lanes);
    let infinity = skips.map(|attempt| Injection {
        attempt,
        microbatch: 1,
        replica: 1,
    });
    // An infinity of the person's own must fail the check of the first update; a later one would only hide what later groups show.
    let first = whole.inject_inf.iter().copied().filter(|at| at.attempt == 1);
    Setup {
        split,
        lanes,
        sampler_padding: false,
        // Fewer examples than a group takes are still checked.
        last_group: LastGroup::Process,
        shuffle: false,
        budget: Budget {
            unit: Unit::Examples,
            amount: u64::MAX,
        },
        inject_inf: first.chain(infinity).collect(),
        ..whole.clone()
    }
}

/// The examples of a course of groups from those of the first: that group twice, and half a group, where `partial` asks for one. Fewer than
/// a group takes are a partial group by themselves, epoch after epoch.
pub(super) fn course(group: &[Example], size: u64, partial: bool) -> Vec<Example> {
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    if group.len() < size {
        return group.to_vec();
    }
    // The longest, since BatchNorm refuses a single position.
    let rest = if partial { size / 2 } else { 0 };
    let half = group.get(group.len() - rest..).unwrap_or_default();
    let all = group.iter().chain(group).chain(half);
    (0..)
        .zip(all)
        .map(|(id, example)| Example {
            id: ExampleId(id),
            ..example.clone()
        })
        .collect()
}

/// m, A and D, each at most [`MOST`].
pub(super) fn split(own: Split) -> Split {
    let [m, a, d] = [own.microbatch, own.accumulation, own.replicas].map(|n| n.get().min(MOST));
    Split::new(m, a, d).unwrap_or(own)
}

/// As many examples as a group takes, or all where there are fewer: from the one with the fewest supervised tokens to the one with the
/// most, evenly between, and in that order, so that microbatches have as different counts as the data allows. Examples with nothing
/// supervised come in only where there are not enough others.
pub(super) fn examples(corpus: &Corpus, count: u64) -> Vec<Example> {
    let mut sorted: Vec<&Example> = corpus.examples.iter().collect();
    sorted.sort_by_key(|example| (example.supervised(), example.id));
    let scored = sorted.partition_point(|example| example.supervised() == 0);
    let count = usize::try_from(count).unwrap_or(usize::MAX).min(sorted.len());
    let from = if sorted.len() - scored >= count {
        scored
    } else {
        sorted.len() - count
    };
    let pool = sorted.get(from..).unwrap_or_default();
    let last = pool.len().saturating_sub(1);
    let place = |i: usize| if count > 1 { i * last / (count - 1) } else { last };
    let chosen = (0..count).filter_map(|i| pool.get(place(i)));
    (0..)
        .zip(chosen)
        .map(|(id, example)| Example {
            id: ExampleId(id),
            ..(*example).clone()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{batch::IGNORE_INDEX, data::Vocabulary};

    fn corpus(supervised: &[usize]) -> Corpus {
        let example = |(id, &count): (u32, &usize)| Example {
            id: ExampleId(id),
            tokens: vec![1; count.max(1)],
            labels: if count == 0 { vec![IGNORE_INDEX] } else { vec![1; count] },
        };
        Corpus {
            vocabulary: Vocabulary { characters: vec!['a'] },
            examples: (0..).zip(supervised).map(example).collect(),
            unsupervised: 0,
            cut_positions: 0,
        }
    }

    fn counts(supervised: &[usize], count: u64) -> Vec<u64> {
        let chosen = examples(&corpus(supervised), count);
        for (id, example) in (0..).zip(&chosen) {
            assert_eq!(example.id, ExampleId(id));
        }
        chosen.iter().map(Example::supervised).collect()
    }

    #[test]
    fn the_set_spans_the_data_from_few_tokens_to_many() {
        assert_eq!(counts(&[9, 1, 0, 5, 3, 7], 3), [1, 5, 9]);
        assert_eq!(counts(&[9, 1, 0, 5, 3, 7], 6), [0, 1, 3, 5, 7, 9]);
        assert_eq!(counts(&[4, 2], 8), [2, 4]);
        assert_eq!(counts(&[4, 2, 8], 1), [8]);
        assert_eq!(counts(&[0, 0, 3, 4], 3), [0, 3, 4]);
    }

    #[test]
    fn a_course_is_the_group_twice_and_half_of_it() {
        let group = examples(&corpus(&[1, 2, 3, 4]), 4);
        let of = |group: &[Example], size, partial| -> Vec<u64> {
            let course = course(group, size, partial);
            assert!((0..).zip(&course).all(|(id, example)| example.id == ExampleId(id)));
            course.iter().map(Example::supervised).collect()
        };
        assert_eq!(of(&group, 4, true), [1, 2, 3, 4, 1, 2, 3, 4, 3, 4]);
        assert_eq!(of(&group, 4, false), [1, 2, 3, 4, 1, 2, 3, 4]);
        assert_eq!(of(&group[..3], 4, true), [1, 2, 3]);
        assert_eq!(of(&group[..1], 1, true), [1, 1], "half of one is none");
    }

    #[test]
    fn two_of_each_are_enough() {
        let small = |m, a, d| split(Split::new(m, a, d).unwrap());
        assert_eq!(small(8, 16, 4), Split::new(2, 2, 2).unwrap());
        assert_eq!(small(1, 16, 1), Split::new(1, 2, 1).unwrap());
    }
}
