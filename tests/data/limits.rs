//! What is refused before it fills a tab.

use microbatch_lab::{
    data::{self, DataError},
    setup::Key,
};

use super::{MLP, setup};

#[test]
fn a_context_too_short_for_a_task_is_named() {
    let short = setup(&[(Key::Data, "addition"), (Key::Context, "4")]);
    assert!(matches!(
        data::build(&short, None),
        Err(DataError::TooLong {
            example: 0,
            length: 5..,
            max: 4
        })
    ));
}

#[test]
fn what_does_not_fit_a_tab_is_refused() {
    let text: String = (0..2000u32).filter_map(|i| char::from_u32(0x4E00 + i)).collect();
    let own = |changes: &[(Key, &str)], text: &str| {
        let mut all = vec![(Key::Data, "text"), MLP];
        all.extend_from_slice(changes);
        data::build(&setup(&all), Some(text))
    };
    assert_eq!(
        own(&[], &text),
        Err(DataError::VocabularyTooLarge {
            distinct: 2001,
            max: 1024
        })
    );
    let long = "a".repeat(4000);
    let wide = [(Key::Microbatch, "32"), (Key::Accumulation, "1"), (Key::Replicas, "1")];
    assert_eq!(
        own(&wide, &long),
        Err(DataError::TooManyPositions {
            positions: 128_000,
            max: 65_536
        })
    );
    let whole = [
        (Key::Microbatch, "2"),
        (Key::Accumulation, "16"),
        (Key::Replicas, "1"),
        (Key::Lanes, "full_batch"),
    ];
    assert_eq!(
        own(&whole, &long),
        Err(DataError::TooManyPositions {
            positions: 128_000,
            max: 65_536
        })
    );
    let many = "a\n".repeat(20_001);
    assert_eq!(
        own(&[], &many),
        Err(DataError::TooManyExamples {
            examples: 20_001,
            max: 20_000
        })
    );
    let tokens = setup(&[
        (Key::Data, "two_sources"),
        MLP,
        (Key::Lengths, "list"),
        (Key::LengthList, "4000"),
        (Key::Examples, "20000"),
    ]);
    assert_eq!(
        data::build(&tokens, None),
        Err(DataError::TooManyTokens {
            tokens: 8_004_000,
            max: 8_000_000
        })
    );
}

#[test]
fn dropping_the_only_group_is_refused() {
    let few = |last: &'static str| data::build(&setup(&[(Key::Examples, "15"), (Key::LastGroup, last)]), None);
    assert_eq!(
        few("drop"),
        Err(DataError::NoFullGroup {
            examples: 15,
            needed: 16
        })
    );
    assert!(few("process").is_ok());
    assert!(data::build(&setup(&[(Key::Examples, "16"), (Key::LastGroup, "drop")]), None).is_ok());
}

#[test]
fn a_full_group_is_filled_by_repeats_and_smaller_where_replicas_get_the_same() {
    let with = |examples: &'static str, changes: &[(Key, &str)]| {
        let mut all = vec![(Key::Examples, examples), (Key::LastGroup, "drop")];
        all.extend_from_slice(changes);
        data::build(&setup(&all), None).map(|corpus| corpus.examples.len())
    };
    let refused = |examples, needed| Err(DataError::NoFullGroup { examples, needed });
    // m 2, A 4, D 2. The sixteenth is the first once more; the data themselves stay what they are.
    let padding = [(Key::SamplerPadding, "yes")];
    assert_eq!(with("15", &padding), Ok(15));
    assert_eq!(with("14", &padding), refused(14, 16));
    let identical = [(Key::Sharding, "identical")];
    assert_eq!(with("8", &identical), Ok(8));
    assert_eq!(with("7", &identical), refused(7, 8));
    assert_eq!(with("7", &[identical[0], padding[0]]), Ok(7));
}

#[test]
fn start_letters_must_be_in_the_data() {
    let start = setup(&[MLP, (Key::Start, "s:2,=:4")]);
    assert_eq!(
        data::build(&start, None),
        Err(DataError::StartLetterUnknown { letter: 's' })
    );
}
