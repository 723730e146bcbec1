//! Which fields the chosen variants use: only those are judged, shown and written.

use super::{
    Draft, Key,
    kinds::{DataKind, LengthsKind, LossScaleKind, ModelKind, OptimizerKind, YesNo},
    limits,
    named::Named,
    number,
};
use crate::batch::ScheduleShape;

/// Whether `key` has any effect in `draft`. Where a choice is itself unreadable, what hangs on it does not matter yet.
pub fn matters(draft: &Draft, key: Key) -> bool {
    let data = || chosen::<DataKind>(draft, Key::Data);
    let lengths = |kind| chosen(draft, Key::Lengths) == Some(kind);
    let model = |kind| chosen(draft, Key::Model) == Some(kind);
    let optimizer = |kind| chosen(draft, Key::Optimizer) == Some(kind);
    match key {
        Key::Examples => matches!(data(), Some(DataKind::Task(_))),
        Key::FileName => matches!(data(), Some(DataKind::Own(_))),
        Key::LengthList => lengths(LengthsKind::List),
        Key::LengthMin | Key::LengthMax => lengths(LengthsKind::Uniform),
        Key::LengthMedian | Key::LengthSigma => lengths(LengthsKind::LogNormal),
        Key::LengthShort | Key::LengthLong | Key::LengthLongShare => lengths(LengthsKind::TwoHumped),
        Key::Embed | Key::Hidden | Key::BatchNorm => model(ModelKind::TokenMlp),
        Key::Width | Key::Layers | Key::Heads | Key::Context => model(ModelKind::Transformer),
        Key::Momentum => optimizer(OptimizerKind::Sgd),
        Key::Beta1 | Key::Beta2 | Key::WeightDecay => optimizer(OptimizerKind::AdamW),
        Key::Warmup | Key::ScheduleTotal | Key::ScheduleUnit | Key::WarmupStart => {
            chosen::<ScheduleShape>(draft, Key::Schedule).is_some_and(|shape| shape != ScheduleShape::Constant)
        }
        Key::InitScale | Key::GrowthFactor | Key::BackoffFactor | Key::GrowthInterval => {
            chosen(draft, Key::LossScale) == Some(LossScaleKind::Dynamic)
        }
        Key::DropoutOrder => {
            number::decimal(draft.get(Key::Dropout), 0.0, limits::MAX_DROPOUT).is_ok_and(|rate| rate > 0.0)
        }
        Key::BatchNormMomentum => model(ModelKind::TokenMlp) && chosen(draft, Key::BatchNorm) == Some(YesNo::Yes),
        _ => true,
    }
}

fn chosen<T: Named>(draft: &Draft, key: Key) -> Option<T> {
    T::named(draft.get(key).trim())
}
