//! What is fetched once the page is seen: what stands behind closed folds, at the foot of the page, and in files.
//!
//! [`later`] and all that only [`draw`] reaches go into a wasm of their own (see `docs/adr/012-small-page.md`), so whatever calls a part
//! by its own name brings it back into the first paint. The page asks for it by [`Part`], through [`coming::part`].

pub mod coming;

use leptos::prelude::*;

use super::{
    controls::{
        data::Own,
        lane_loop::Faults,
        lengths::LengthsFile,
        numerics::{LimitFields, ScalingFields, ScheduleFields},
        recipe::{ModelFields, OptimizerFields},
        split::DealingFields,
    },
    panels::{
        communication::Communication, compare::CompareTable, fit::Fit, memory::Memory, preflight::Preflight,
        probe::Probe, records::Records, scaler::Scaler,
    },
    parts::facts::RowFacts,
};
use crate::batch::{Convention, ConventionId, LaneRule};

/// What the page can do without until it is seen, with what each needs.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// All conventions at once.
    Probe,
    /// The check before a campaign.
    Preflight,
    /// The loss scale.
    Scaler,
    /// What replicas exchange.
    Communication,
    /// What was measured of memory.
    Memory,
    /// The largest m, under the limit typed so far.
    Fit(RwSignal<String>),
    /// Lane by lane, in numbers.
    Compare,
    /// The foot of the page.
    Records,
    /// The fields of the network.
    Model,
    /// The fields of the optimizer.
    Optimizer,
    /// The fields of the schedule.
    Schedule,
    /// The fields of clipping, precision and loss scale.
    Scaling,
    /// The fields of who gets which example.
    Dealing,
    /// The fields of limits.
    Limits,
    /// The person's own data, by the source chosen.
    Own(Memo<String>),
    /// Lengths from a file.
    LengthsFile,
    /// What is known of a convention.
    Convention(ConventionId),
    /// The faults that a lane's loop can have.
    Faults(usize, Memo<Option<LaneRule>>),
}

/// What came: the way into the second wasm.
#[derive(Clone, Copy, Debug)]
pub struct Later {
    draw: fn(Part) -> AnyView,
}

/// To be called in the second wasm alone, or where there is only one.
pub fn later() -> Later {
    Later { draw }
}

fn draw(part: Part) -> AnyView {
    match part {
        Part::Probe => view! { <Probe /> }.into_any(),
        Part::Preflight => view! { <Preflight /> }.into_any(),
        Part::Scaler => view! { <Scaler /> }.into_any(),
        Part::Communication => view! { <Communication /> }.into_any(),
        Part::Memory => view! { <Memory /> }.into_any(),
        Part::Fit(typed) => view! { <Fit typed=typed /> }.into_any(),
        Part::Compare => view! { <CompareTable /> }.into_any(),
        Part::Records => view! { <Records /> }.into_any(),
        Part::Model => view! { <ModelFields /> }.into_any(),
        Part::Optimizer => view! { <OptimizerFields /> }.into_any(),
        Part::Schedule => view! { <ScheduleFields /> }.into_any(),
        Part::Scaling => view! { <ScalingFields /> }.into_any(),
        Part::Dealing => view! { <DealingFields /> }.into_any(),
        Part::Limits => view! { <LimitFields /> }.into_any(),
        Part::Own(source) => view! { <Own source=source /> }.into_any(),
        Part::LengthsFile => view! { <LengthsFile /> }.into_any(),
        Part::Convention(id) => {
            let row = Convention::of(id);
            view! { <RowFacts symptom=row.symptom sources=row.sources /> }.into_any()
        }
        Part::Faults(lane, rule) => view! { <Faults lane=lane rule=rule /> }.into_any(),
    }
}
