//! The stable names of choices, as they stand in links, files and goldens.

use super::types::{DropoutOrder, Precision};
use crate::batch::{ConventionId, FaultId, LastGroup, ScheduleShape, Sharding, Unit, schedule::WarmupStart};

/// A choice among a few named values.
pub trait Named: Copy + PartialEq + 'static {
    /// Every value with its name, in the order they are offered.
    const NAMES: &'static [(Self, &'static str)];

    /// The name of this value.
    fn name(self) -> &'static str {
        // Each list holds every value, held by tests; the first stands in where it had not.
        Self::NAMES
            .iter()
            .find(|(value, _)| *value == self)
            .map_or(Self::NAMES[0].1, |(_, name)| name)
    }

    /// The value called `name`.
    fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, n)| *n == name).map(|(value, _)| *value)
    }

    /// All names, in the order they are offered.
    fn names() -> Vec<&'static str> {
        Self::NAMES.iter().map(|(_, name)| *name).collect()
    }
}

macro_rules! named {
    ($type:ty: $($variant:ident $name:literal),* $(,)?) => {
        impl Named for $type {
            const NAMES: &'static [(Self, &'static str)] = &[$((Self::$variant, $name)),*];
        }
    };
}
pub(crate) use named;

named!(Sharding: Interleaved "interleaved", Microbatches "microbatches", Blocks "blocks", Identical "identical");
named!(LastGroup: Process "process", Drop "drop");
named!(ScheduleShape:
    Constant "constant", LinearWarmupDecay "linear_warmup_decay", CosineWarmupDecay "cosine_warmup_decay",
);
named!(WarmupStart: FirstStep "first_step", Zero "zero");
named!(Precision: F32 "f32", F16 "f16");
named!(DropoutOrder: Stream "stream", ByExample "by_example");
named!(Unit:
    Microbatches "microbatches", Backwards "backwards", UpdateAttempts "update_attempts", AppliedUpdates "applied_updates",
    Examples "examples", UniqueExamples "unique_examples", SupervisedTokens "supervised_tokens", PaddedTokens "padded_tokens",
    AllReduces "all_reduces", AllReducedBytes "all_reduced_bytes",
);
named!(ConventionId:
    TokenWeighted "token_weighted", FullBatch "full_batch", MeanOfMeans "mean_of_means", ReplicaTokenMean "replica_token_mean",
    DividedTwice "divided_twice", WeightedThenDividedByA "weighted_then_divided_by_a", NeverDivided "never_divided", Sum "sum",
    ReplicasForgotten "replicas_forgotten", ReplicasAndAccumulationForgotten "replicas_and_accumulation_forgotten",
    PaddingCounted "padding_counted", NominalAccumulation "nominal_accumulation", ExampleMean "example_mean",
    ZeroGradEachMicrobatch "zero_grad_each_microbatch", IgnoredCounted "ignored_counted",
    TwoDenominators "two_denominators",
);
named!(FaultId:
    ZeroGradBeforeBackward "zero_grad_before_backward", ZeroGradAfterBackward "zero_grad_after_backward",
    ZeroGradForgotten "zero_grad_forgotten", StepEachMicrobatch "step_each_microbatch",
    MovesSummed "moves_summed",
    SchedulerEachMicrobatch "scheduler_each_microbatch", SchedulerEachAttempt "scheduler_each_attempt",
    SchedulerBeforeOptimizer "scheduler_before_optimizer", HorizonInMicrobatches "horizon_in_microbatches",
    ClipRunningGradient "clip_running_gradient", ClipEachContribution "clip_each_contribution", ClipEachMean "clip_each_mean",
    ClipBeforeUnscale "clip_before_unscale", UnscaleTwice "unscale_twice", ScaleGrownInGroup "scale_grown_in_group",
    UnscaledAfterFirst "unscaled_after_first", HandMaskedMean "hand_masked_mean", LogDividedTwice "log_divided_twice",
    LogLastTimesA "log_last_times_a", SyncEachMicrobatch "sync_each_microbatch",
    ForwardOutsideNoSync "forward_outside_no_sync", NeverSynced "never_synced", ForwardInsideNoSync "forward_inside_no_sync",
    LastForwardInsideNoSync "last_forward_inside_no_sync", LastForwardOutsideNoSync "last_forward_outside_no_sync",
    SingleBackward "single_backward", SyncFirstMicrobatch "sync_first_microbatch", GraphRetained "graph_retained",
    TailDropped "tail_dropped", TailCarried "tail_carried", EmptyGroupStepped "empty_group_stepped",
);
