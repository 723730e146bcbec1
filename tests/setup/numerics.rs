//! Fields of the recipe's numbers: schedule, clipping, precision, loss scale, injections, dropout, BatchNorm, limits.

use microbatch_lab::{
    batch::{ScheduleShape, Unit, oracle::Momentum, schedule::WarmupStart},
    setup::{
        Draft, DropoutOrder, FieldError, Injection, Key, Named, Precision, Problem, Setup, kinds::ScheduleUnit,
        parse::parse,
    },
};

fn setup(draft: &Draft) -> Setup {
    parse(draft).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn problems(draft: &Draft) -> Vec<(Key, Problem)> {
    let errors = parse(draft).err().unwrap_or_default();
    errors
        .into_iter()
        .map(|FieldError { key, problem, .. }| (key, problem))
        .collect()
}

fn with(pairs: &[(Key, &str)]) -> Draft {
    pairs
        .iter()
        .fold(Draft::default(), |draft, (key, text)| draft.with(*key, *text))
}

#[test]
fn the_defaults_are_the_plain_recipe() {
    let plain = setup(&Draft::default());
    assert_eq!(
        (plain.clip_norm, plain.loss_scale, plain.dropout, plain.batch_norm),
        (None, None, None, None)
    );
    assert_eq!((plain.precision, plain.sampler_padding), (Precision::F32, false));
    assert_eq!(
        (plain.schedule.shape, plain.schedule_unit),
        (ScheduleShape::Constant, Unit::AppliedUpdates)
    );
    assert!(plain.inject_inf.is_empty());
    assert_eq!(plain.memory_limit, 1 << 30);
    assert!((plain.tolerance - 1e-5).abs() < 1e-20);
}

#[test]
fn a_schedule_is_read_with_its_unit_and_its_start() {
    let draft = with(&[
        (Key::Schedule, "cosine_warmup_decay"),
        (Key::ScheduleUnit, "supervised_tokens"),
        (Key::Warmup, "1 000"),
        (Key::WarmupStart, "zero"),
        (Key::ScheduleTotal, "2e5"),
    ]);
    let read = setup(&draft);
    assert_eq!(read.schedule_unit, Unit::SupervisedTokens);
    assert_eq!(read.schedule.shape, ScheduleShape::CosineWarmupDecay);
    assert_eq!(
        (read.schedule.warmup, read.schedule.total, read.schedule.start),
        (1000, 200_000, WarmupStart::Zero)
    );
    let order = draft.clone().with(Key::Warmup, "200001");
    assert_eq!(problems(&order), [(Key::Warmup, Problem::WrongOrder)]);
    // A count of work, but none that a scheduler is stepped by.
    let unit = draft.with(Key::ScheduleUnit, "all_reduces");
    let allowed = ScheduleUnit::names();
    assert_eq!(problems(&unit), [(Key::ScheduleUnit, Problem::NotOneOf { allowed })]);
}

#[test]
fn the_unit_of_a_constant_or_unreadable_schedule_is_not_judged() {
    assert_eq!(
        problems(&with(&[(Key::ScheduleUnit, "?"), (Key::WarmupStart, "?")])),
        []
    );
    let unread = with(&[(Key::Schedule, "?"), (Key::ScheduleUnit, "?"), (Key::Warmup, "?")]);
    let keys: Vec<Key> = problems(&unread).into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, [Key::Schedule]);
}

#[test]
fn a_norm_of_nothing_is_no_clipping() {
    for (text, norm) in [("0", None), ("0,0", None), ("1", Some(1.0)), ("0.5", Some(0.5))] {
        assert_eq!(setup(&with(&[(Key::ClipNorm, text)])).clip_norm, norm, "{text}");
    }
    let below = problems(&with(&[(Key::ClipNorm, "-1")]));
    assert_eq!(below, [(Key::ClipNorm, Problem::TooSmall { min: 0.0 })]);
}

#[test]
fn a_loss_scale_has_torchs_defaults_and_limits_of_its_own() {
    let dynamic = with(&[(Key::LossScale, "dynamic")]);
    let scaler = setup(&dynamic).loss_scale.expect("dynamic");
    assert!((scaler.init_scale - 65536.0).abs() < f32::EPSILON);
    assert!((scaler.growth_factor - 2.0).abs() < f64::EPSILON && (scaler.backoff_factor - 0.5).abs() < f64::EPSILON);
    assert_eq!(scaler.growth_interval, 2000);
    let cases = [
        (Key::InitScale, "0", Problem::TooSmall { min: 1e-6 }),
        (Key::InitScale, "1e31", Problem::TooLarge { max: 1e30 }),
        (Key::GrowthFactor, "0.5", Problem::TooSmall { min: 1.0 }),
        (Key::BackoffFactor, "2", Problem::TooLarge { max: 1.0 }),
        (Key::BackoffFactor, "0", Problem::TooSmall { min: 1e-6 }),
        (Key::GrowthInterval, "0", Problem::TooSmall { min: 1.0 }),
        (Key::GrowthInterval, "1.5", Problem::NotWhole),
    ];
    for (key, text, problem) in cases {
        assert_eq!(problems(&dynamic.clone().with(key, text)), [(key, problem)], "{text}");
        assert_eq!(problems(&with(&[(key, text)])), [], "without a scale {text} is nothing");
    }
}

#[test]
fn infinities_are_put_where_three_counts_say() {
    let at = |attempt, microbatch, replica| Injection {
        attempt,
        microbatch,
        replica,
    };
    for (text, wanted) in [
        ("", vec![]),
        (" ; ", vec![]),
        ("3:1:1", vec![at(3, 1, 1)]),
        (
            "3:1:1, 4:2:2;5:1:2\n6:1:1",
            vec![at(3, 1, 1), at(4, 2, 2), at(5, 1, 2), at(6, 1, 1)],
        ),
    ] {
        assert_eq!(setup(&with(&[(Key::InjectInf, text)])).inject_inf, wanted, "{text:?}");
    }
    for text in [
        "3",
        "3:1",
        "3:1:1:1",
        "0:1:1",
        "3:0:1",
        "3:1:0",
        "3:1:",
        ":::",
        "a:1:1",
        "3:1:-1",
        "3:1:1.0",
        "99999999999:1:1",
    ] {
        assert_eq!(
            problems(&with(&[(Key::InjectInf, text)])),
            [(Key::InjectInf, Problem::BadInjection)],
            "{text:?}"
        );
    }
    for text in ["3:5:1", "3:1:3", "1:1:1, 3:5:2"] {
        let outside = Problem::InjectionOutside {
            accumulation: 4,
            replicas: 2,
        };
        assert_eq!(
            problems(&with(&[(Key::InjectInf, text)])),
            [(Key::InjectInf, outside)],
            "{text:?}"
        );
    }
    let many = "1:1:1 ".repeat(65);
    let wanted = Problem::TooMany { count: 65, max: 64 };
    assert_eq!(problems(&with(&[(Key::InjectInf, &many)])), [(Key::InjectInf, wanted)]);
}

#[test]
fn dropout_and_batch_norm_are_read_where_they_exist() {
    assert_eq!(
        setup(&with(&[(Key::Dropout, "0,0"), (Key::DropoutOrder, "?")])).dropout,
        None
    );
    let dropout = setup(&with(&[(Key::Dropout, "0,25"), (Key::DropoutOrder, "by_example")])).dropout;
    let dropout = dropout.expect("some");
    assert!((dropout.rate - 0.25).abs() < f64::EPSILON && dropout.order == DropoutOrder::ByExample);
    let most = problems(&with(&[(Key::Dropout, "0.96"), (Key::DropoutOrder, "?")]));
    assert_eq!(most, [(Key::Dropout, Problem::TooLarge { max: 0.95 })]);

    let norm = |text: &str| {
        with(&[
            (Key::Model, "token_mlp"),
            (Key::BatchNorm, "yes"),
            (Key::BatchNormMomentum, text),
        ])
    };
    assert_eq!(setup(&norm("0.1")).batch_norm, Some(Momentum::Fixed(0.1)));
    assert_eq!(setup(&norm(" cumulative ")).batch_norm, Some(Momentum::Cumulative));
    for text in ["", "none", "-0.1", "1.1"] {
        assert_eq!(
            problems(&norm(text)),
            [(Key::BatchNormMomentum, Problem::BadMomentum)],
            "{text:?}"
        );
    }
    assert_eq!(setup(&norm("?").with(Key::BatchNorm, "no")).batch_norm, None);
    // The transformer has none, whatever stands there.
    assert_eq!(
        setup(&norm("?").with(Key::Model, "transformer").with(Key::BatchNorm, "?")).batch_norm,
        None
    );
}

#[test]
fn memory_is_given_in_mib_and_kept_in_bytes() {
    assert_eq!(setup(&with(&[(Key::MemoryLimit, "3")])).memory_limit, 3 * 1024 * 1024);
    let cases = [
        (Key::MemoryLimit, "0", Problem::TooSmall { min: 1.0 }),
        (Key::MemoryLimit, "4097", Problem::TooLarge { max: 4096.0 }),
        (Key::Tolerance, "0", Problem::TooSmall { min: 1e-12 }),
        (Key::Tolerance, "1.5", Problem::TooLarge { max: 1.0 }),
        (
            Key::SamplerPadding,
            "true",
            Problem::NotOneOf {
                allowed: vec!["yes", "no"],
            },
        ),
        (
            Key::Precision,
            "bf16",
            Problem::NotOneOf {
                allowed: vec!["f32", "f16"],
            },
        ),
        (
            Key::LossScale,
            "static",
            Problem::NotOneOf {
                allowed: vec!["off", "dynamic"],
            },
        ),
    ];
    for (key, text, problem) in cases {
        assert_eq!(problems(&with(&[(key, text)])), [(key, problem)], "{text}");
    }
    assert!(setup(&with(&[(Key::SamplerPadding, "yes")])).sampler_padding);
    assert_eq!(setup(&with(&[(Key::Precision, "f16")])).precision, Precision::F16);
}
