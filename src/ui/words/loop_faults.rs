//! What goes wrong in a loop, and where.

use crate::{
    batch::{FaultId, fault::Place},
    ui::text::{Locale, td_string},
};

/// For each fault its key; two functions follow from one list.
macro_rules! faults {
    ($($fault:ident $key:ident),* $(,)?) => {
        /// The short name of a fault.
        pub fn name(locale: Locale, id: FaultId) -> &'static str {
            match id { $(FaultId::$fault => td_string!(locale, faults.$key.name),)* }
        }

        /// What a fault does, in a sentence.
        pub fn about(locale: Locale, id: FaultId) -> &'static str {
            match id { $(FaultId::$fault => td_string!(locale, faults.$key.about),)* }
        }
    };
}

faults! {
    ZeroGradBeforeBackward zero_grad_before_backward,
    ZeroGradAfterBackward zero_grad_after_backward,
    ZeroGradForgotten zero_grad_forgotten,
    StepEachMicrobatch step_each_microbatch,
    SchedulerEachMicrobatch scheduler_each_microbatch,
    SchedulerEachAttempt scheduler_each_attempt,
    SchedulerBeforeOptimizer scheduler_before_optimizer,
    HorizonInMicrobatches horizon_in_microbatches,
    ClipRunningGradient clip_running_gradient,
    ClipEachContribution clip_each_contribution,
    ClipEachMean clip_each_mean,
    ClipBeforeUnscale clip_before_unscale,
    UnscaleTwice unscale_twice,
    ScaleGrownInGroup scale_grown_in_group,
    UnscaledAfterFirst unscaled_after_first,
    HandMaskedMean hand_masked_mean,
    LogDividedTwice log_divided_twice,
    LogLastTimesA log_last_times_a,
    SyncEachMicrobatch sync_each_microbatch,
    ForwardOutsideNoSync forward_outside_no_sync,
    NeverSynced never_synced,
    ForwardInsideNoSync forward_inside_no_sync,
    LastForwardInsideNoSync last_forward_inside_no_sync,
    LastForwardOutsideNoSync last_forward_outside_no_sync,
    SingleBackward single_backward,
    SyncFirstMicrobatch sync_first_microbatch,
    GraphRetained graph_retained,
    TailDropped tail_dropped,
    TailCarried tail_carried,
}

/// A place of the loop.
pub fn place(locale: Locale, place: Place) -> &'static str {
    match place {
        Place::ZeroGrad => td_string!(locale, places.zero_grad),
        Place::OptimizerStep => td_string!(locale, places.optimizer_step),
        Place::Scheduler => td_string!(locale, places.scheduler),
        Place::Horizon => td_string!(locale, places.horizon),
        Place::Clip => td_string!(locale, places.clip),
        Place::ClipOrder => td_string!(locale, places.clip_order),
        Place::Scale => td_string!(locale, places.scale),
        Place::EmptyMean => td_string!(locale, places.empty_mean),
        Place::Log => td_string!(locale, places.log),
        Place::Synchronisation => td_string!(locale, places.synchronisation),
        Place::Graph => td_string!(locale, places.graph),
        Place::Tail => td_string!(locale, places.tail),
    }
}
