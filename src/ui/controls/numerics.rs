//! The schedule, what happens to a gradient before the optimizer, and the limits of a run.

use leptos::prelude::*;

use crate::{
    setup::Key,
    ui::{
        parts::field::{ChoiceField, Keyboard, TextField, Words},
        text::td_string,
    },
};

const SHAPES: &[(&str, Words)] = &[
    ("constant", |l| td_string!(l, schedule.constant)),
    ("linear_warmup_decay", |l| td_string!(l, schedule.linear)),
    ("cosine_warmup_decay", |l| td_string!(l, schedule.cosine)),
];
const STEPS: &[(&str, Words)] = &[
    ("applied_updates", |l| td_string!(l, units.applied_updates)),
    ("update_attempts", |l| td_string!(l, units.update_attempts)),
    ("microbatches", |l| td_string!(l, units.microbatches)),
    ("examples", |l| td_string!(l, units.examples)),
    ("supervised_tokens", |l| td_string!(l, units.supervised_tokens)),
];
const STARTS: &[(&str, Words)] = &[
    ("first_step", |l| td_string!(l, schedule.start_first)),
    ("zero", |l| td_string!(l, schedule.start_zero)),
];
const PRECISIONS: &[(&str, Words)] = &[
    ("f32", |l| td_string!(l, scaling.f32)),
    ("f16", |l| td_string!(l, scaling.f16)),
];
const LOSS_SCALES: &[(&str, Words)] = &[
    ("off", |l| td_string!(l, scaling.off)),
    ("dynamic", |l| td_string!(l, scaling.dynamic)),
];

/// The fields of the schedule.
pub const SCHEDULE_KEYS: &[Key] = &[
    Key::Schedule,
    Key::ScheduleUnit,
    Key::Warmup,
    Key::WarmupStart,
    Key::ScheduleTotal,
];

/// The fields of clipping, precision and loss scale.
pub const SCALING_KEYS: &[Key] = &[
    Key::ClipNorm,
    Key::Precision,
    Key::LossScale,
    Key::InitScale,
    Key::GrowthFactor,
    Key::BackoffFactor,
    Key::GrowthInterval,
    Key::InjectInf,
];

/// The fields of limits.
pub const LIMIT_KEYS: &[Key] = &[Key::Tolerance, Key::MemoryLimit];

/// The learning rate over time.
#[component]
pub fn ScheduleFields() -> impl IntoView {
    view! {
        <ChoiceField key=Key::Schedule label=|l| td_string!(l, schedule.shape) options=SHAPES />
        <ChoiceField key=Key::ScheduleUnit label=|l| td_string!(l, schedule.unit) options=STEPS />
        <div class="two">
            <TextField key=Key::Warmup label=|l| td_string!(l, schedule.warmup) />
            <TextField key=Key::ScheduleTotal label=|l| td_string!(l, schedule.total) />
        </div>
        <ChoiceField key=Key::WarmupStart label=|l| td_string!(l, schedule.start) options=STARTS />
    }
}

/// What happens to a gradient between backward and optimizer.
#[component]
pub fn ScalingFields() -> impl IntoView {
    let inject_help: Words = |l| td_string!(l, scaling.inject_help);
    view! {
        <TextField key=Key::ClipNorm label=|l| td_string!(l, scaling.clip_norm) keyboard=Keyboard::Decimal />
        <ChoiceField key=Key::Precision label=|l| td_string!(l, scaling.precision) options=PRECISIONS />
        <ChoiceField key=Key::LossScale label=|l| td_string!(l, scaling.loss_scale) options=LOSS_SCALES />
        <div class="two">
            <TextField key=Key::InitScale label=|l| td_string!(l, scaling.init) keyboard=Keyboard::Decimal />
            <TextField key=Key::GrowthInterval label=|l| td_string!(l, scaling.interval) />
            <TextField key=Key::GrowthFactor label=|l| td_string!(l, scaling.growth) keyboard=Keyboard::Decimal />
            <TextField key=Key::BackoffFactor label=|l| td_string!(l, scaling.backoff) keyboard=Keyboard::Decimal />
        </div>
        <TextField key=Key::InjectInf label=|l| td_string!(l, scaling.inject) keyboard=Keyboard::Text help=inject_help />
    }
}

/// What is close enough, and what is too much.
#[component]
pub fn LimitFields() -> impl IntoView {
    view! {
        <TextField key=Key::Tolerance label=|l| td_string!(l, limits.tolerance) keyboard=Keyboard::Decimal />
        <TextField key=Key::MemoryLimit label=|l| td_string!(l, limits.memory) />
    }
}
