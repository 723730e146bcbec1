//! The stable names of choices, as they stand in links, files and goldens.

use crate::batch::{ConventionId, LastGroup, ScheduleShape, Sharding, Unit};

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

named!(Sharding: Interleaved "interleaved", Microbatches "microbatches", Blocks "blocks");
named!(LastGroup: Process "process", Drop "drop");
named!(ScheduleShape: Constant "constant", LinearWarmupDecay "linear_warmup_decay");
named!(Unit:
    Microbatches "microbatches", Backwards "backwards", UpdateAttempts "update_attempts", AppliedUpdates "applied_updates",
    Examples "examples", UniqueExamples "unique_examples", SupervisedTokens "supervised_tokens", PaddedTokens "padded_tokens",
);
named!(ConventionId:
    TokenWeighted "token_weighted", FullBatch "full_batch", MeanOfMeans "mean_of_means", ReplicaTokenMean "replica_token_mean",
    DividedTwice "divided_twice", WeightedThenDividedByA "weighted_then_divided_by_a", NeverDivided "never_divided", Sum "sum",
    ReplicasForgotten "replicas_forgotten", ReplicasAndAccumulationForgotten "replicas_and_accumulation_forgotten",
    PaddingCounted "padding_counted", NominalAccumulation "nominal_accumulation", ExampleMean "example_mean",
    ZeroGradEachMicrobatch "zero_grad_each_microbatch",
);
