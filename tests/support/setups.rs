//! Any Setup that a person could make, as proptest strategies.

use microbatch_lab::{
    batch::{ConventionId, Schedule, ScheduleShape, Split},
    setup::{
        Budget, Data, Lengths, Model, Named, Optimizer, OwnFormat, Setup, Start, Task, kinds::BudgetUnit, limits,
        parse::longest,
    },
};
use proptest::{collection::vec, prelude::*, sample};

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
            total: 0
        }),
        (rate, 0..1000u32, 1..1000u32).prop_map(|(peak, warmup, decay)| Schedule {
            shape: ScheduleShape::LinearWarmupDecay,
            peak,
            warmup,
            total: warmup + decay
        }),
    ]
}

fn lanes() -> impl Strategy<Value = Vec<ConventionId>> {
    let all: Vec<ConventionId> = ConventionId::NAMES.iter().map(|(id, _)| *id).collect();
    sample::subsequence(all, 1..=limits::MAX_LANES).prop_shuffle()
}

pub fn setup() -> impl Strategy<Value = Setup> {
    let with_model = model().prop_flat_map(|model| (Just(model), lengths(longest(&model)), start(model)));
    let rules = (split(), named(), named(), any::<bool>(), data());
    let training = (
        optimizer(),
        schedule(),
        lanes(),
        any::<u32>(),
        named::<BudgetUnit>(),
        1..=limits::MAX_BUDGET,
    );
    (rules, with_model, training).prop_map(|(rules, (model, lengths, start), training)| {
        let (split, sharding, last_group, shuffle, data) = rules;
        let (optimizer, schedule, lanes, seed, unit, amount) = training;
        let budget = Budget { unit: unit.0, amount };
        Setup {
            split,
            sharding,
            last_group,
            shuffle,
            data,
            lengths,
            model,
            start,
            optimizer,
            schedule,
            lanes,
            seed,
            budget,
        }
    })
}
