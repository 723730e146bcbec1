//! What a Setup says of every lane.

use crate::{
    batch::{Schedule, Unit, scaler::ScalerConfig},
    setup::{Injection, Optimizer, Precision, Setup},
};

/// What a Setup says of every lane's loop.
#[derive(Clone, Debug)]
pub struct Settings {
    /// A as set.
    pub accumulation: u32,
    /// The optimizer.
    pub optimizer: Optimizer,
    /// The learning rate.
    pub schedule: Schedule,
    /// What counts as one step of the schedule.
    pub schedule_unit: Unit,
    /// Largest norm of the whole gradient; `None` for no clipping.
    pub clip_norm: Option<f64>,
    /// Dynamic loss scaling; `None` for none.
    pub loss_scale: Option<ScalerConfig>,
    /// How numbers are rounded on the way.
    pub precision: Precision,
    /// Where an infinity is put into a gradient.
    pub inject_inf: Vec<Injection>,
}

impl Settings {
    /// Those of `setup`.
    pub fn of(setup: &Setup) -> Self {
        Self {
            accumulation: setup.split.accumulation.get(),
            optimizer: setup.optimizer,
            schedule: setup.schedule,
            schedule_unit: setup.schedule_unit,
            clip_norm: setup.clip_norm,
            loss_scale: setup.loss_scale,
            precision: setup.precision,
            inject_inf: setup.inject_inf.clone(),
        }
    }
}
