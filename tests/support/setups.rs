//! Any Setup that a person could make, as proptest strategies.

use microbatch_lab::{
    batch::{
        Convention, ConventionId, FaultId, Faults, LaneRule, Pass, Schedule, ScheduleShape, Split, Unit,
        fault::{self, Needs},
        oracle::Momentum,
        scaler::ScalerConfig,
        schedule::WarmupStart,
    },
    setup::{
        Budget, Data, Dropout, Injection, Lengths, Model, Named, Optimizer, OwnFormat, Setup, Start, Task,
        kinds::{BudgetUnit, ScheduleUnit},
        limits,
        parse::longest,
    },
};
use proptest::{collection::vec, option, prelude::*, sample};

pub fn named<T: Named + std::fmt::Debug>() -> impl Strategy<Value = T> {
    sample::select(T::NAMES.iter().map(|(value, _)| *value).collect::<Vec<_>>())
}

pub fn split() -> impl Strategy<Value = Split> {
    (1..=16u32, 1..=16u32, 1..=16u32).prop_map(|(m, a, d)| Split::new(m, a, d).unwrap())
}

fn data() -> impl Strategy<Value = Data> {
    let own = (
        sample::select(vec![OwnFormat::Text, OwnFormat::Jsonl]),
        "[^\\s\\x00](.*[^\\s\\x00])?|",
    );
    prop_oneof![
        (sample::select(Task::ALL.to_vec()), 1..=limits::MAX_EXAMPLES)
            .prop_map(|(task, examples)| Data::Task { task, examples }),
        own.prop_map(|(format, name)| Data::Own {
            format,
            name: name.trim().to_owned()
        }),
    ]
}

fn model() -> impl Strategy<Value = Model> {
    prop_oneof![
        (1..=limits::MAX_WIDTH, 1..=limits::MAX_WIDTH).prop_map(|(embed, hidden)| Model::TokenMlp { embed, hidden }),
        (1..=8u32, 1..=64u32, 1..=limits::MAX_LAYERS, 1..=limits::MAX_CONTEXT).prop_map(
            |(heads, each, layers, context)| Model::Transformer {
                width: heads * each,
                layers,
                heads,
                context
            }
        ),
    ]
}

/// Short enough for any split of [`split`] in one pass.
fn lengths(longest: u32) -> impl Strategy<Value = Lengths> {
    let length = 1..=longest.min(16);
    prop_oneof![
        Just(Lengths::AsInData),
        vec(length.clone(), 1..20).prop_map(Lengths::List),
        (length.clone(), length.clone()).prop_map(|(a, b)| Lengths::Uniform {
            min: a.min(b),
            max: a.max(b)
        }),
        (length.clone(), 0.0..=limits::MAX_SIGMA).prop_map(|(median, sigma)| Lengths::LogNormal { median, sigma }),
        (length.clone(), length, 0.0..=1.0).prop_map(|(a, b, long_share)| Lengths::TwoHumped {
            short: a.min(b),
            long: a.max(b),
            long_share
        }),
    ]
}

fn start(model: Model) -> BoxedStrategy<Start> {
    match model {
        Model::Transformer { .. } => Just(Start::Random).boxed(),
        Model::TokenMlp { .. } => prop_oneof![
            Just(Start::Random),
            // Three letters at a loss of at least 1.2 each leave some probability.
            (
                sample::subsequence(vec!['s', 'l', ',', ':', ' ', 'ж', '%', '\u{1F980}'], 1..=3),
                vec(1.2..40.0f64, 3)
            )
                .prop_map(|(letters, losses)| Start::KnownLosses(letters.into_iter().zip(losses).collect())),
        ]
        .boxed(),
    }
}

fn optimizer() -> impl Strategy<Value = Optimizer> {
    let decay = || 0.0..=limits::MAX_DECAY;
    prop_oneof![
        decay().prop_map(|momentum| Optimizer::Sgd { momentum }),
        (decay(), decay(), 0.0..=1.0).prop_map(|(beta1, beta2, weight_decay)| Optimizer::AdamW {
            beta1,
            beta2,
            weight_decay
        }),
    ]
}

fn schedule() -> impl Strategy<Value = Schedule> {
    let rate = limits::MIN_RATE..=limits::MAX_RATE;
    prop_oneof![
        rate.clone().prop_map(|peak| Schedule {
            shape: ScheduleShape::Constant,
            peak,
            warmup: 0,
            total: 0,
            start: WarmupStart::default(),
        }),
        (rate, 0..1000u32, 1..1000u32, any::<bool>(), named()).prop_map(|(peak, warmup, decay, cosine, start)| {
            Schedule {
                shape: if cosine {
                    ScheduleShape::CosineWarmupDecay
                } else {
                    ScheduleShape::LinearWarmupDecay
                },
                peak,
                warmup,
                total: warmup + decay,
                start,
            }
        }),
    ]
}

/// Faults that show something whatever else is set.
fn faults(convention: ConventionId) -> impl Strategy<Value = Faults> {
    let alone = fault::TABLE
        .iter()
        .filter(move |row| row.needs == Needs::Nothing && Convention::of(convention).pass == Pass::AsSplit);
    let ids: Vec<FaultId> = alone.map(|row| row.id).collect();
    let most = ids.len().min(3);
    sample::subsequence(ids, 0..=most).prop_map(|ids| {
        ids.into_iter()
            .fold(Faults::NONE, |faults, id| faults.and(id).unwrap_or(faults))
    })
}

fn lanes() -> impl Strategy<Value = Vec<LaneRule>> {
    let all: Vec<ConventionId> = ConventionId::NAMES.iter().map(|(id, _)| *id).collect();
    sample::subsequence(all, 1..=limits::MAX_LANES)
        .prop_shuffle()
        .prop_flat_map(|ids| {
            let lane = |id| faults(id).prop_map(move |faults| LaneRule { convention: id, faults });
            ids.into_iter().map(lane).collect::<Vec<_>>()
        })
}

fn loss_scale() -> impl Strategy<Value = Option<ScalerConfig>> {
    let scaler =
        (0.5f32..1e6, 1.0..4.0f64, 0.1..=1.0f64, 1..5000u32).prop_map(|(init_scale, growth, backoff, interval)| {
            ScalerConfig {
                init_scale,
                growth_factor: growth,
                backoff_factor: backoff,
                growth_interval: interval,
            }
        });
    option::of(scaler)
}

/// The same, none outside the group.
fn within(mut injections: Vec<Injection>, split: Split) -> Vec<Injection> {
    for at in &mut injections {
        at.microbatch = (at.microbatch - 1) % split.accumulation.get() + 1;
        at.replica = (at.replica - 1) % split.replicas.get() + 1;
    }
    injections
}

fn injections() -> impl Strategy<Value = Vec<Injection>> {
    let injection = (1..100u32, 1..9u32, 1..9u32).prop_map(|(attempt, microbatch, replica)| Injection {
        attempt: attempt.into(),
        microbatch,
        replica,
    });
    vec(injection, 0..4)
}

fn dropout() -> impl Strategy<Value = Option<Dropout>> {
    option::of((0.01..=limits::MAX_DROPOUT, named()).prop_map(|(rate, order)| Dropout { rate, order }))
}

fn batch_norm(model: &Model) -> BoxedStrategy<Option<Momentum>> {
    match model {
        Model::Transformer { .. } => Just(None).boxed(),
        Model::TokenMlp { .. } => option::of(prop_oneof![
            Just(Momentum::Cumulative),
            (0.0..=1.0).prop_map(Momentum::Fixed)
        ])
        .boxed(),
    }
}

pub fn setup() -> impl Strategy<Value = Setup> {
    let with_model =
        model().prop_flat_map(|model| (Just(model), lengths(longest(&model)), start(model), batch_norm(&model)));
    let rules = (split(), named(), any::<bool>(), named(), any::<bool>(), data());
    let training = (
        optimizer(),
        (schedule(), named::<ScheduleUnit>()),
        lanes(),
        any::<u32>(),
        named::<BudgetUnit>(),
        1..=limits::MAX_BUDGET,
    );
    let numerics = (
        option::of(0.001..=limits::MAX_CLIP_NORM),
        named(),
        loss_scale(),
        injections(),
        dropout(),
        limits::MIN_TOLERANCE..=limits::MAX_TOLERANCE,
        limits::MIN_MEMORY_MIB..=limits::MAX_MEMORY_MIB,
    );
    (rules, with_model, training, numerics).prop_map(
        |(rules, (model, lengths, start, batch_norm), training, numerics)| {
            let (split, sharding, sampler_padding, last_group, shuffle, data) = rules;
            let (optimizer, (schedule, schedule_unit), lanes, seed, unit, amount) = training;
            let (clip_norm, precision, loss_scale, inject_inf, dropout, tolerance, memory) = numerics;
            let budget = Budget { unit: unit.0, amount };
            let steps = schedule.shape != ScheduleShape::Constant;
            Setup {
                split,
                sharding,
                sampler_padding,
                last_group,
                shuffle,
                data,
                lengths,
                model,
                start,
                optimizer,
                schedule,
                schedule_unit: if steps { schedule_unit.0 } else { Unit::AppliedUpdates },
                clip_norm,
                precision,
                loss_scale,
                inject_inf: within(inject_inf, split),
                dropout,
                batch_norm,
                lanes,
                tolerance,
                memory_limit: u64::from(memory) << 20,
                seed,
                budget,
            }
        },
    )
}
