//! What the page says about data.

use microbatch_lab::{
    data::{self, Summary},
    setup::Key,
};
use proptest::prelude::*;

use super::{MLP, build, own::jsonl, support};

#[test]
fn a_summary_counts_what_is_there() {
    let corpus = jsonl(
        &[],
        "{\"prompt\": \"ab\", \"completion\": \"c\"}\n{\"prompt\": \"a\", \"completion\": \"bcde\"}",
    )
    .expect("ok");
    let Summary {
        count,
        shortest,
        median,
        longest,
        positions,
        supervised,
        lengths,
        supervised_counts,
        samples,
    } = data::summary(&corpus);
    assert_eq!(
        (count, shortest, median, longest, positions, supervised),
        (2, 3, 3, 5, 8, 2 + 5)
    );
    let bars = |bins: &[data::Bin]| bins.iter().map(|b| (b.from, b.to, b.examples)).collect::<Vec<_>>();
    assert_eq!(bars(&lengths), [(3, 3, 1), (4, 4, 0), (5, 5, 1)]);
    assert_eq!(bars(&supervised_counts), [(2, 2, 1), (3, 3, 0), (4, 4, 0), (5, 5, 1)]);
    let runs: Vec<(&str, bool)> = samples[0].runs.iter().map(|run| (&*run.text, run.supervised)).collect();
    assert_eq!((runs, samples[0].cut), (vec![("ab", false), ("c■", true)], false));
}

proptest! {
    #![proptest_config(support::config(64))]

    #[test]
    fn histograms_hold_every_example_once(lengths in prop::collection::vec(1u32..500, 1..60)) {
        let list = lengths.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
        let count = lengths.len().to_string();
        let corpus = build(&[(Key::Data, "two_sources"), MLP, (Key::Lengths, "list"), (Key::LengthList, &list), (Key::Examples, &count)]);
        let bins = data::summary(&corpus).lengths;
        prop_assert!(bins.len() <= 24);
        prop_assert!(bins.windows(2).all(|pair| pair[1].from == pair[0].to + 1));
        for bin in bins {
            let inside = lengths.iter().filter(|&&l| (bin.from..=bin.to).contains(&l)).count();
            prop_assert_eq!(bin.examples, inside as u64);
        }
    }
}
