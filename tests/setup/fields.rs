//! Every field judged: what is refused, with which problem, and what is taken.

use microbatch_lab::{
    batch::ConventionId,
    setup::{Draft, FieldError, Key, Named, Problem, matters::matters, parse::parse},
};

fn problems(draft: &Draft) -> Vec<(Key, Problem)> {
    match parse(draft) {
        Ok(_) => Vec::new(),
        Err(errors) => errors
            .into_iter()
            .map(|FieldError { key, problem, .. }| (key, problem))
            .collect(),
    }
}

fn problem(key: Key, text: &str) -> Option<Problem> {
    match problems(&Draft::default().with(key, text)).as_slice() {
        [] => None,
        [(at, problem)] => {
            assert_eq!(*at, key, "{text:?}");
            Some(problem.clone())
        }
        many => panic!("{text:?} gives {many:?}"),
    }
}

#[test]
fn the_defaults_make_a_setup() {
    assert_eq!(problems(&Draft::default()), []);
}

#[test]
fn counts_are_judged_by_value() {
    for key in [Key::Microbatch, Key::Accumulation, Key::Replicas] {
        let max = 1024.0;
        let cases = [
            ("", Some(Problem::Empty)),
            ("   ", Some(Problem::Empty)),
            ("0", Some(Problem::TooSmall { min: 1.0 })),
            ("-3", Some(Problem::TooSmall { min: 1.0 })),
            ("\u{2212}3", Some(Problem::TooSmall { min: 1.0 })),
            ("1025", Some(Problem::TooLarge { max })),
            ("99999999999999999999999", Some(Problem::TooLarge { max })),
            ("1e999", Some(Problem::TooLarge { max })),
            ("-1e999", Some(Problem::TooSmall { min: 1.0 })),
            ("1.5", Some(Problem::NotWhole)),
            ("1,5", Some(Problem::NotWhole)),
            ("NaN", Some(Problem::NotANumber)),
            ("inf", Some(Problem::NotANumber)),
            ("infinity", Some(Problem::NotANumber)),
            ("два", Some(Problem::NotANumber)),
            ("0x10", Some(Problem::NotANumber)),
            ("2 4", Some(Problem::NotANumber)),
            ("2 2", Some(Problem::NotANumber)),
            ("--2", Some(Problem::NotANumber)),
            (" 8 ", None),
            ("2.0", None),
            ("+2", None),
        ];
        for (text, expected) in cases {
            assert_eq!(problem(key, text), expected, "{} = {text:?}", key.name());
        }
    }
}

#[test]
fn digit_groups_are_read() {
    for text in ["12 000", "12_000", "12\u{A0}000", "12\u{202F}000", "12000", "1.2e4"] {
        assert_eq!(
            parse(&Draft::default().with(Key::Budget, text)).map(|s| s.budget.amount),
            Ok(12_000),
            "{text:?}"
        );
    }
}

#[test]
fn decimals_are_judged_by_value() {
    let cases = [
        ("", Some(Problem::Empty)),
        ("0", Some(Problem::TooSmall { min: 1e-9 })),
        ("-0.1", Some(Problem::TooSmall { min: 1e-9 })),
        ("1e9", Some(Problem::TooLarge { max: 100.0 })),
        ("1e999", Some(Problem::TooLarge { max: 100.0 })),
        ("nan", Some(Problem::NotANumber)),
        ("-inf", Some(Problem::NotANumber)),
        ("1.2.3", Some(Problem::NotANumber)),
        ("1,2,3", Some(Problem::NotANumber)),
        ("0,01", None),
        ("3e-4", None),
    ];
    for (text, expected) in cases {
        assert_eq!(problem(Key::Rate, text), expected, "{text:?}");
    }
}

#[test]
fn the_product_has_its_own_limit_and_names_the_largest() {
    let draft = Draft::default()
        .with(Key::Microbatch, "16")
        .with(Key::Accumulation, "1024")
        .with(Key::Replicas, "8");
    assert_eq!(
        problems(&draft),
        [(
            Key::Accumulation,
            Problem::ProductTooLarge {
                product: 131_072,
                max: 4096
            }
        )]
    );
    let draft = Draft::default()
        .with(Key::Microbatch, "1024")
        .with(Key::Accumulation, "1024")
        .with(Key::Replicas, "8");
    assert_eq!(
        problems(&draft),
        [(
            Key::Microbatch,
            Problem::ProductTooLarge {
                product: 8_388_608,
                max: 4096
            }
        )]
    );
    assert_eq!(
        problems(
            &Draft::default()
                .with(Key::Accumulation, "1024")
                .with(Key::Replicas, "2")
        ),
        []
    );
}

#[test]
fn every_problem_is_found_at_once_in_the_order_of_the_table() {
    let draft = Key::ALL
        .iter()
        .fold(Draft::default(), |draft, &key| draft.with(key, "?"));
    let found: Vec<Key> = problems(&draft).into_iter().map(|(key, _)| key).collect();
    let always = [
        Key::Microbatch,
        Key::Accumulation,
        Key::Replicas,
        Key::Sharding,
        Key::SamplerPadding,
        Key::LastGroup,
        Key::Shuffle,
        Key::Data,
        Key::Lengths,
        Key::Model,
        Key::Start,
        Key::Optimizer,
        Key::Rate,
        Key::Schedule,
        Key::ClipNorm,
        Key::Precision,
        Key::LossScale,
        Key::InjectInf,
        Key::Dropout,
        Key::Lanes,
        Key::Tolerance,
        Key::MemoryLimit,
        Key::Seed,
        Key::BudgetUnit,
        Key::Budget,
    ];
    assert_eq!(found, always);
}

/// Drafts that choose every variant, and the choices made unreadable.
fn variants() -> Vec<Draft> {
    let choices: &[(Key, &[&str])] = &[
        (Key::Data, &["copy", "text", "?"]),
        (
            Key::Lengths,
            &["data", "list", "uniform", "log_normal", "two_humped", "?"],
        ),
        (Key::Model, &["token_mlp", "transformer", "?"]),
        (Key::Optimizer, &["sgd", "adamw", "?"]),
        (
            Key::Schedule,
            &["constant", "linear_warmup_decay", "cosine_warmup_decay", "?"],
        ),
        (Key::LossScale, &["off", "dynamic", "?"]),
        (Key::Dropout, &["0", "0.0", "0,0", " 0 ", "0.1", "0,1", "?", "2"]),
        (Key::BatchNorm, &["yes", "no", "?"]),
    ];
    let mut drafts = vec![Draft::default()];
    for (key, texts) in choices {
        let with = |draft: &Draft| {
            texts
                .iter()
                .map(|text| draft.clone().with(*key, *text))
                .collect::<Vec<_>>()
        };
        // All of these three together, the others one by one.
        if matches!(key, Key::Model | Key::BatchNorm | Key::Dropout) {
            drafts = drafts.iter().flat_map(with).collect();
        } else {
            drafts.extend(with(&drafts[0]));
        }
    }
    drafts
}

#[test]
fn a_field_is_judged_exactly_where_it_matters() {
    for draft in variants() {
        // Any text is a name of a file.
        for &key in Key::ALL.iter().filter(|key| **key != Key::FileName) {
            let draft = draft.clone().with(key, "?");
            let judged = problems(&draft).iter().any(|(at, _)| *at == key);
            assert_eq!(judged, matters(&draft, key), "{} in {draft:?}", key.name());
        }
    }
}

#[test]
fn only_what_the_variant_uses_is_judged() {
    assert_eq!(problem(Key::LengthMin, "nonsense"), None);
    assert_eq!(problem(Key::Momentum, "nonsense"), None);
    let uniform = Draft::default()
        .with(Key::Lengths, "uniform")
        .with(Key::LengthMin, "nonsense");
    assert_eq!(problems(&uniform), [(Key::LengthMin, Problem::NotANumber)]);
}

#[test]
fn lists_of_lengths_take_any_usual_separator() {
    let lengths = |text: &str| problems(&Draft::default().with(Key::Lengths, "list").with(Key::LengthList, text));
    for text in ["3, 5", "3;5", "3 5", "3\n5\n", " 3,,5 ,", "3\t5"] {
        assert_eq!(lengths(text), [], "{text:?}");
    }
    let at = |problem| [(Key::LengthList, problem)];
    assert_eq!(lengths(" , "), at(Problem::Empty));
    for text in ["3, x", "3, 0", "3, -5", "3, 2.5", "3, NaN"] {
        assert_eq!(lengths(text), at(Problem::BadLength { entry: 2 }), "{text:?}");
    }
    assert_eq!(
        lengths("3 5 41"),
        at(Problem::LengthTooLong {
            entry: 3,
            length: 41,
            max: 40
        })
    );
    assert_eq!(
        lengths("9".repeat(30).as_str()),
        at(Problem::LengthTooLong {
            entry: 1,
            length: u64::MAX,
            max: 40
        })
    );
    assert_eq!(
        lengths(&"1 ".repeat(20_001)),
        at(Problem::TooMany {
            count: 20_001,
            max: 20_000
        })
    );
}

#[test]
fn batches_too_large_for_a_tab_are_refused_where_lengths_are_known() {
    let long = Draft::default()
        .with(Key::Model, "token_mlp")
        .with(Key::Lengths, "list")
        .with(Key::LengthList, "512, 4096")
        .with(Key::Microbatch, "32")
        .with(Key::Accumulation, "1")
        .with(Key::Replicas, "1");
    assert_eq!(
        problems(&long),
        [(
            Key::LengthList,
            Problem::TooManyPositions {
                positions: 131_072,
                max: 65_536
            }
        )]
    );
    let cut = long.with(Key::Microbatch, "2").with(Key::Accumulation, "16");
    assert_eq!(problems(&cut), []);
    let full = cut.with(Key::Lanes, "token_weighted full_batch");
    assert_eq!(
        problems(&full),
        [(
            Key::Lanes,
            Problem::FullBatchTooLarge {
                positions: 131_072,
                max: 65_536
            }
        )]
    );
}

#[test]
fn orders_and_shares_of_lengths() {
    let uniform = Draft::default()
        .with(Key::Lengths, "uniform")
        .with(Key::LengthMin, "9")
        .with(Key::LengthMax, "3");
    assert_eq!(problems(&uniform), [(Key::LengthMin, Problem::WrongOrder)]);
    let humps = Draft::default()
        .with(Key::Lengths, "two_humped")
        .with(Key::LengthLongShare, "1.5");
    assert_eq!(
        problems(&humps),
        [(Key::LengthLongShare, Problem::TooLarge { max: 1.0 })]
    );
    let normal = Draft::default()
        .with(Key::Lengths, "log_normal")
        .with(Key::LengthMedian, "41");
    assert_eq!(
        problems(&normal),
        [(Key::LengthMedian, Problem::TooLarge { max: 40.0 })]
    );
}

#[test]
fn heads_divide_the_width() {
    assert_eq!(problem(Key::Heads, "3"), Some(Problem::DoesNotDivide { width: 32 }));
    assert_eq!(problem(Key::Heads, "4"), None);
}

#[test]
fn lanes_are_known_different_and_at_most_four() {
    assert_eq!(
        problem(Key::Lanes, "sum; mean_of_means\ntoken_weighted full_batch"),
        None
    );
    assert_eq!(
        problem(Key::Lanes, "sum,sum"),
        Some(Problem::Repeated { name: "sum".into() })
    );
    let unknown = Some(Problem::NotOneOf {
        allowed: ConventionId::names(),
    });
    assert_eq!(problem(Key::Lanes, " , "), unknown);
    let unknown = Some(Problem::UnknownName {
        name: "sums".into(),
        allowed: ConventionId::names(),
    });
    assert_eq!(problem(Key::Lanes, "sums"), unknown);
    let five = ConventionId::names()[..5].join(",");
    assert_eq!(problem(Key::Lanes, &five), Some(Problem::TooMany { count: 5, max: 4 }));
}

#[test]
fn known_losses_need_an_output_bias_and_room_for_the_rest() {
    assert_eq!(problem(Key::Start, "s:2,l:4"), Some(Problem::StartNeedsMlp));
    let start = |text: &str| problems(&Draft::default().with(Key::Model, "token_mlp").with(Key::Start, text));
    let bad = [(Key::Start, Problem::BadStart)];
    for text in [
        "",
        "s",
        "s:",
        "s:x",
        "s:0",
        "s:-1",
        "s:nan",
        "s:inf",
        "sl:2",
        "s:0.5,l:0.5",
        ",",
    ] {
        assert_eq!(start(text), bad, "{text:?}");
    }
    assert_eq!(start("s:2,s:3"), [(Key::Start, Problem::Repeated { name: "s".into() })]);
    for text in ["s:2,l:4", " s:2 , l:4 ", "random", " random "] {
        assert_eq!(start(text), [], "{text:?}");
    }
}
