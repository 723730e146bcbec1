//! Links, TOML and JSON.

use microbatch_lab::setup::{Draft, Key, codec, codec::LinkError, parse::parse};
use proptest::prelude::*;

use super::support;

proptest! {
    #![proptest_config(support::config(256))]

    #[test]
    fn a_setup_survives_each_written_form(setup in support::setups::setup()) {
        let draft = codec::write(&setup);
        prop_assert_eq!(parse(&draft), Ok(setup));
        prop_assert_eq!(codec::from_link(&codec::to_link(&draft)), Ok(draft.clone()));
        prop_assert_eq!(codec::from_toml(&codec::to_toml(&draft)), Ok(draft.clone()), "{}", codec::to_toml(&draft));
        prop_assert_eq!(codec::from_json(&codec::to_json(&draft)), Ok(draft.clone()), "{}", codec::to_json(&draft));
    }

    #[test]
    fn whatever_is_typed_survives_each_written_form(
        texts in prop::collection::btree_map(prop::sample::select(Key::ALL), ".*|-?[0-9]{1,22}([.][0-9]{1,4})?", 0..6)
    ) {
        let draft = texts.into_iter().fold(Draft::default(), |draft, (key, text)| draft.with(key, text));
        let _ = parse(&draft);
        prop_assert_eq!(codec::from_link(&codec::to_link(&draft)), Ok(draft.clone()));
        prop_assert_eq!(codec::from_toml(&codec::to_toml(&draft)), Ok(draft.clone()), "{}", codec::to_toml(&draft));
        prop_assert_eq!(codec::from_json(&codec::to_json(&draft)), Ok(draft.clone()), "{}", codec::to_json(&draft));
    }

    #[test]
    fn no_text_can_break_the_readers(text in ".*|v=1[&=%a-z0-9A-D,]*", cut in 0usize..400) {
        let _ = (codec::from_link(&text), codec::from_toml(&text), codec::from_json(&text));
        let link = codec::to_link(&Draft::default().with(Key::FileName, &text).with(Key::LengthList, "1, 2"));
        let _ = codec::from_link(link.get(..cut).unwrap_or(&link));
    }
}

#[test]
fn links_that_are_foreign_truncated_or_doubled_are_named() {
    let cases = [
        ("section-2", LinkError::Foreign),
        ("m=2&A=8", LinkError::Foreign),
        ("v=2&m=2", LinkError::WrongVersion { given: "2".into() }),
        (
            "v=1&m=2&utm_source=x",
            LinkError::UnknownKey {
                key: "utm_source".into(),
            },
        ),
        ("v=1&m=2&m=3", LinkError::Repeated { key: "m".into() }),
        ("v=1&lanes=sum%2", LinkError::BadEscape { at: 14 }),
        ("v=1&lanes=sum%", LinkError::BadEscape { at: 14 }),
        ("v=1&lanes=%zz", LinkError::BadEscape { at: 11 }),
        ("v=1&file=%D0", LinkError::NotUtf8 { key: "file".into() }),
    ];
    for (link, error) in cases {
        assert_eq!(codec::from_link(link), Err(error), "{link}");
    }
    assert!(matches!(
        codec::from_link(&"x".repeat(300_000)),
        Err(LinkError::TooLong { .. })
    ));
}

#[test]
fn a_link_with_bad_values_still_gives_a_draft() {
    let draft = codec::from_link("#v=1&m=zero&length_list=512%2C+1536");
    assert_eq!(
        draft,
        Ok(Draft::default()
            .with(Key::Microbatch, "zero")
            .with(Key::LengthList, "512, 1536"))
    );
    assert_eq!(codec::from_link(""), Ok(Draft::default()));
    assert_eq!(codec::from_link("#"), Ok(Draft::default()));
}

#[test]
fn files_take_numbers_texts_booleans_and_lists() {
    let expected = Draft::default()
        .with(Key::Accumulation, "8")
        .with(Key::Rate, "0.01")
        .with(Key::Shuffle, "no")
        .with(Key::LengthList, "512, 1536")
        .with(Key::Lanes, "sum, full_batch");
    let toml = "v = 1\nA = 8\nrate = 0.01\nshuffle = false\nlength_list = [512, 1536]\nlanes = ['sum', 'full_batch']\n";
    assert_eq!(codec::from_toml(toml), Ok(expected.clone()));
    let json = r#"{"v": "1", "A": "8", "rate": 0.01, "shuffle": false, "length_list": [512, 1536], "lanes": ["sum", "full_batch"]}"#;
    assert_eq!(codec::from_json(json), Ok(expected));
}

#[test]
fn files_name_the_line_that_is_wrong() {
    let line = |result: Result<Draft, codec::FileError>| result.map_err(|error| (error.line, error.message.clone()));
    let cases = [
        "m = 2\nA = \nD = 1",
        "m = 2\ncolour = 'red'\n",
        "m = 2\nm = 3\n",
        "m = 2\nA = {x = 1}\n",
        "m = 2\nv = 9\n",
    ];
    for text in cases {
        let error = line(codec::from_toml(text)).expect_err(text);
        assert_eq!(error.0, Some(2), "{text:?}: {}", error.1);
    }
    let cases = [
        "{\"m\": 2,\n\"A\": }",
        "{\"m\": 2,\n\"colour\": 1}",
        "{\"m\": 2,\n\"m\": 3}",
        "{\"m\": 2,\n\"A\": null}",
        "{\"m\": 2,\n\"v\": 9}",
    ];
    for text in cases {
        let error = line(codec::from_json(text)).expect_err(text);
        assert_eq!(error.0, Some(2), "{text:?}: {}", error.1);
    }
    let unknown = codec::from_toml("colour = 1").expect_err("unknown");
    assert!(unknown.message.contains("colour"), "{unknown}");
}
