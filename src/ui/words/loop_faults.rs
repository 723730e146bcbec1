//! What goes wrong in a loop, and where.

use crate::{
    batch::{FaultId, fault::Place},
    ui::text::{Locale, td_string},
};

/// The short name of a fault.
pub fn name(locale: Locale, id: FaultId) -> &'static str {
    match id {
        FaultId::ZeroGradBeforeBackward => td_string!(locale, faults.zero_grad_before_backward.name),
        FaultId::ZeroGradAfterBackward => td_string!(locale, faults.zero_grad_after_backward.name),
        FaultId::ZeroGradForgotten => td_string!(locale, faults.zero_grad_forgotten.name),
        FaultId::StepEachMicrobatch => td_string!(locale, faults.step_each_microbatch.name),
        FaultId::SchedulerEachMicrobatch => td_string!(locale, faults.scheduler_each_microbatch.name),
        FaultId::SchedulerEachAttempt => td_string!(locale, faults.scheduler_each_attempt.name),
        FaultId::SchedulerBeforeOptimizer => td_string!(locale, faults.scheduler_before_optimizer.name),
        FaultId::HorizonInMicrobatches => td_string!(locale, faults.horizon_in_microbatches.name),
        FaultId::ClipRunningGradient => td_string!(locale, faults.clip_running_gradient.name),
        FaultId::ClipEachContribution => td_string!(locale, faults.clip_each_contribution.name),
        FaultId::ClipEachMean => td_string!(locale, faults.clip_each_mean.name),
        FaultId::ClipBeforeUnscale => td_string!(locale, faults.clip_before_unscale.name),
        FaultId::UnscaleTwice => td_string!(locale, faults.unscale_twice.name),
        FaultId::ScaleGrownInGroup => td_string!(locale, faults.scale_grown_in_group.name),
        FaultId::UnscaledAfterFirst => td_string!(locale, faults.unscaled_after_first.name),
        FaultId::HandMaskedMean => td_string!(locale, faults.hand_masked_mean.name),
        FaultId::LogDividedTwice => td_string!(locale, faults.log_divided_twice.name),
        FaultId::LogLastTimesA => td_string!(locale, faults.log_last_times_a.name),
        FaultId::SyncEachMicrobatch => td_string!(locale, faults.sync_each_microbatch.name),
        FaultId::ForwardOutsideNoSync => td_string!(locale, faults.forward_outside_no_sync.name),
        FaultId::NeverSynced => td_string!(locale, faults.never_synced.name),
        FaultId::ForwardInsideNoSync => td_string!(locale, faults.forward_inside_no_sync.name),
        FaultId::LastForwardInsideNoSync => td_string!(locale, faults.last_forward_inside_no_sync.name),
        FaultId::LastForwardOutsideNoSync => td_string!(locale, faults.last_forward_outside_no_sync.name),
        FaultId::SingleBackward => td_string!(locale, faults.single_backward.name),
        FaultId::SyncFirstMicrobatch => td_string!(locale, faults.sync_first_microbatch.name),
        FaultId::GraphRetained => td_string!(locale, faults.graph_retained.name),
        FaultId::TailDropped => td_string!(locale, faults.tail_dropped.name),
        FaultId::TailCarried => td_string!(locale, faults.tail_carried.name),
    }
}

/// What a fault does, in a sentence.
pub fn about(locale: Locale, id: FaultId) -> &'static str {
    match id {
        FaultId::ZeroGradBeforeBackward => td_string!(locale, faults.zero_grad_before_backward.about),
        FaultId::ZeroGradAfterBackward => td_string!(locale, faults.zero_grad_after_backward.about),
        FaultId::ZeroGradForgotten => td_string!(locale, faults.zero_grad_forgotten.about),
        FaultId::StepEachMicrobatch => td_string!(locale, faults.step_each_microbatch.about),
        FaultId::SchedulerEachMicrobatch => td_string!(locale, faults.scheduler_each_microbatch.about),
        FaultId::SchedulerEachAttempt => td_string!(locale, faults.scheduler_each_attempt.about),
        FaultId::SchedulerBeforeOptimizer => td_string!(locale, faults.scheduler_before_optimizer.about),
        FaultId::HorizonInMicrobatches => td_string!(locale, faults.horizon_in_microbatches.about),
        FaultId::ClipRunningGradient => td_string!(locale, faults.clip_running_gradient.about),
        FaultId::ClipEachContribution => td_string!(locale, faults.clip_each_contribution.about),
        FaultId::ClipEachMean => td_string!(locale, faults.clip_each_mean.about),
        FaultId::ClipBeforeUnscale => td_string!(locale, faults.clip_before_unscale.about),
        FaultId::UnscaleTwice => td_string!(locale, faults.unscale_twice.about),
        FaultId::ScaleGrownInGroup => td_string!(locale, faults.scale_grown_in_group.about),
        FaultId::UnscaledAfterFirst => td_string!(locale, faults.unscaled_after_first.about),
        FaultId::HandMaskedMean => td_string!(locale, faults.hand_masked_mean.about),
        FaultId::LogDividedTwice => td_string!(locale, faults.log_divided_twice.about),
        FaultId::LogLastTimesA => td_string!(locale, faults.log_last_times_a.about),
        FaultId::SyncEachMicrobatch => td_string!(locale, faults.sync_each_microbatch.about),
        FaultId::ForwardOutsideNoSync => td_string!(locale, faults.forward_outside_no_sync.about),
        FaultId::NeverSynced => td_string!(locale, faults.never_synced.about),
        FaultId::ForwardInsideNoSync => td_string!(locale, faults.forward_inside_no_sync.about),
        FaultId::LastForwardInsideNoSync => td_string!(locale, faults.last_forward_inside_no_sync.about),
        FaultId::LastForwardOutsideNoSync => td_string!(locale, faults.last_forward_outside_no_sync.about),
        FaultId::SingleBackward => td_string!(locale, faults.single_backward.about),
        FaultId::SyncFirstMicrobatch => td_string!(locale, faults.sync_first_microbatch.about),
        FaultId::GraphRetained => td_string!(locale, faults.graph_retained.about),
        FaultId::TailDropped => td_string!(locale, faults.tail_dropped.about),
        FaultId::TailCarried => td_string!(locale, faults.tail_carried.about),
    }
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
