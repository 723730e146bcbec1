//! Written forms of a Setup: its draft, and the draft's link, TOML and JSON.

use super::{
    Draft, Key, Setup,
    kinds::{BudgetUnit, DataKind, LengthsKind, LossScaleKind, ModelKind, OptimizerKind, ScheduleUnit, YesNo},
    lists,
    named::Named,
    types::{Data, Lengths, Model, Optimizer, Start},
};
use crate::batch::{ScheduleShape, oracle::batch_norm::Momentum};

pub use super::{
    file::{FileError, from_json, from_toml, to_json, to_toml},
    link::{LinkError, from_link, to_link},
};

/// The version of the table of keys that links and files speak.
pub const VERSION: &str = "1";

/// The name under which links and files carry [`VERSION`].
pub(super) const VERSION_KEY: &str = "v";

/// The draft that parses to `setup`.
pub fn write(setup: &Setup) -> Draft {
    let mut draft = Draft::default();
    let mut put = |key: Key, text: String| draft.set(key, text);
    put(Key::Microbatch, setup.split.microbatch.to_string());
    put(Key::Accumulation, setup.split.accumulation.to_string());
    put(Key::Replicas, setup.split.replicas.to_string());
    put(Key::Sharding, setup.sharding.name().to_owned());
    put(Key::SamplerPadding, yes_no(setup.sampler_padding));
    put(Key::LastGroup, setup.last_group.name().to_owned());
    put(Key::Shuffle, yes_no(setup.shuffle));
    data(&setup.data, &mut put);
    lengths(&setup.lengths, &mut put);
    model(setup.model, &mut put);
    put(Key::Start, start(&setup.start));
    optimizer(setup.optimizer, &mut put);
    schedule(setup, &mut put);
    numerics(setup, &mut put);
    put(
        Key::Lanes,
        setup
            .lanes
            .iter()
            .map(|&lane| lists::lane_name(lane))
            .collect::<Vec<_>>()
            .join(","),
    );
    put(Key::Seed, setup.seed.to_string());
    put(Key::BudgetUnit, BudgetUnit(setup.budget.unit).name().to_owned());
    put(Key::Budget, setup.budget.amount.to_string());
    draft
}

fn data(data: &Data, put: &mut impl FnMut(Key, String)) {
    match data {
        Data::Task { task, examples } => {
            put(Key::Data, DataKind::Task(*task).name().to_owned());
            put(Key::Examples, examples.to_string());
        }
        Data::Own { format, name } => {
            put(Key::Data, DataKind::Own(*format).name().to_owned());
            put(Key::FileName, name.clone());
        }
    }
}

fn lengths(lengths: &Lengths, put: &mut impl FnMut(Key, String)) {
    let kind = match lengths {
        Lengths::AsInData => LengthsKind::AsInData,
        Lengths::List(list) => {
            put(
                Key::LengthList,
                list.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
            );
            LengthsKind::List
        }
        Lengths::Uniform { min, max } => {
            put(Key::LengthMin, min.to_string());
            put(Key::LengthMax, max.to_string());
            LengthsKind::Uniform
        }
        Lengths::LogNormal { median, sigma } => {
            put(Key::LengthMedian, median.to_string());
            put(Key::LengthSigma, sigma.to_string());
            LengthsKind::LogNormal
        }
        Lengths::TwoHumped {
            short,
            long,
            long_share,
        } => {
            put(Key::LengthShort, short.to_string());
            put(Key::LengthLong, long.to_string());
            put(Key::LengthLongShare, long_share.to_string());
            LengthsKind::TwoHumped
        }
    };
    put(Key::Lengths, kind.name().to_owned());
}

fn model(model: Model, put: &mut impl FnMut(Key, String)) {
    let kind = match model {
        Model::TokenMlp { embed, hidden } => {
            put(Key::Embed, embed.to_string());
            put(Key::Hidden, hidden.to_string());
            ModelKind::TokenMlp
        }
        Model::Transformer {
            width,
            layers,
            heads,
            context,
        } => {
            put(Key::Width, width.to_string());
            put(Key::Layers, layers.to_string());
            put(Key::Heads, heads.to_string());
            put(Key::Context, context.to_string());
            ModelKind::Transformer
        }
    };
    put(Key::Model, kind.name().to_owned());
}

fn start(start: &Start) -> String {
    match start {
        Start::Random => "random".to_owned(),
        Start::KnownLosses(pairs) => pairs
            .iter()
            .map(|(letter, loss)| format!("{letter}:{loss}"))
            .collect::<Vec<_>>()
            .join(","),
    }
}

fn optimizer(optimizer: Optimizer, put: &mut impl FnMut(Key, String)) {
    let kind = match optimizer {
        Optimizer::Sgd { momentum } => {
            put(Key::Momentum, momentum.to_string());
            OptimizerKind::Sgd
        }
        Optimizer::AdamW {
            beta1,
            beta2,
            weight_decay,
        } => {
            put(Key::Beta1, beta1.to_string());
            put(Key::Beta2, beta2.to_string());
            put(Key::WeightDecay, weight_decay.to_string());
            OptimizerKind::AdamW
        }
    };
    put(Key::Optimizer, kind.name().to_owned());
}

fn schedule(setup: &Setup, put: &mut impl FnMut(Key, String)) {
    let schedule = setup.schedule;
    put(Key::Schedule, schedule.shape.name().to_owned());
    put(Key::Rate, schedule.peak.to_string());
    if schedule.shape != ScheduleShape::Constant {
        put(Key::ScheduleUnit, ScheduleUnit(setup.schedule_unit).name().to_owned());
        put(Key::Warmup, schedule.warmup.to_string());
        put(Key::WarmupStart, schedule.start.name().to_owned());
        put(Key::ScheduleTotal, schedule.total.to_string());
    }
}

fn numerics(setup: &Setup, put: &mut impl FnMut(Key, String)) {
    put(Key::ClipNorm, setup.clip_norm.unwrap_or(0.0).to_string());
    put(Key::Precision, setup.precision.name().to_owned());
    let kind = match setup.loss_scale {
        None => LossScaleKind::Off,
        Some(config) => {
            put(Key::InitScale, config.init_scale.to_string());
            put(Key::GrowthFactor, config.growth_factor.to_string());
            put(Key::BackoffFactor, config.backoff_factor.to_string());
            put(Key::GrowthInterval, config.growth_interval.to_string());
            LossScaleKind::Dynamic
        }
    };
    put(Key::LossScale, kind.name().to_owned());
    let injections = setup.inject_inf.iter();
    let injections = injections.map(|at| format!("{}:{}:{}", at.attempt, at.microbatch, at.replica));
    put(Key::InjectInf, injections.collect::<Vec<_>>().join(","));
    put(
        Key::Dropout,
        setup.dropout.map_or(0.0, |dropout| dropout.rate).to_string(),
    );
    if let Some(dropout) = setup.dropout {
        put(Key::DropoutOrder, dropout.order.name().to_owned());
    }
    if matches!(setup.model, Model::TokenMlp { .. }) {
        put(Key::BatchNorm, yes_no(setup.batch_norm.is_some()));
        match setup.batch_norm {
            None => {}
            Some(Momentum::Cumulative) => put(Key::BatchNormMomentum, "cumulative".to_owned()),
            Some(Momentum::Fixed(share)) => put(Key::BatchNormMomentum, share.to_string()),
        }
    }
    put(Key::Tolerance, setup.tolerance.to_string());
    put(Key::MemoryLimit, (setup.memory_limit >> 20).to_string());
}

fn yes_no(yes: bool) -> String {
    if yes { YesNo::Yes } else { YesNo::No }.name().to_owned()
}
