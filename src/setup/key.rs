//! The one table of a Setup's fields.

use serde::{Deserialize, Serialize};

macro_rules! keys {
    ($($variant:ident $name:literal $default:literal $doc:literal;)*) => {
        /// One field of a Setup.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Key { $(#[doc = $doc] $variant,)* }

        impl Key {
            /// All fields, in the order they are written.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in links and files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What an absent field means.
            pub const fn default_text(self) -> &'static str {
                match self { $(Self::$variant => $default,)* }
            }
        }
    };
}

keys! {
    Microbatch "m" "2" "Examples per microbatch and replica.";
    Accumulation "A" "4" "Accumulated microbatches.";
    Replicas "D" "2" "Data-parallel replicas.";
    Sharding "sharding" "interleaved" "interleaved, microbatches, blocks or identical.";
    SamplerPadding "sampler_padding" "no" "yes: the first examples are repeated until D divides their number. yes or no.";
    LastGroup "last_group" "process" "process or drop.";
    Shuffle "shuffle" "yes" "yes or no.";
    Data "data" "sort" "copy, reverse, sort, addition, two_sources, text or jsonl.";
    Examples "examples" "240" "Examples of a generated task.";
    FileName "file" "" "Name of the person's own file.";
    Lengths "lengths" "data" "data, list, uniform, log_normal or two_humped.";
    LengthList "length_list" "" "Typed lengths, separated by commas or spaces.";
    LengthMin "length_min" "4" "Shortest, for uniform.";
    LengthMax "length_max" "24" "Longest, for uniform.";
    LengthMedian "length_median" "12" "Median, for log_normal.";
    LengthSigma "length_sigma" "0.6" "Standard deviation of the logarithm, for log_normal.";
    LengthShort "length_short" "6" "Centre of the short ones, for two_humped.";
    LengthLong "length_long" "28" "Centre of the long ones, for two_humped.";
    LengthLongShare "length_long_share" "0.25" "Share of long ones, for two_humped.";
    Model "model" "transformer" "token_mlp or transformer.";
    Embed "embed" "16" "Embedding width of the token MLP.";
    Hidden "hidden" "32" "Hidden width of the token MLP.";
    Width "width" "32" "Width of the transformer.";
    Layers "layers" "1" "Blocks of the transformer.";
    Heads "heads" "2" "Attention heads.";
    Context "context" "40" "Longest length of the transformer.";
    Start "start" "random" "random, or letter:loss pairs.";
    Optimizer "optimizer" "adamw" "sgd or adamw.";
    Momentum "momentum" "0.9" "For sgd.";
    Beta1 "beta1" "0.9" "For adamw.";
    Beta2 "beta2" "0.999" "For adamw.";
    WeightDecay "weight_decay" "0.01" "For adamw.";
    Rate "rate" "0.003" "Highest learning rate.";
    Schedule "schedule" "constant" "constant, linear_warmup_decay or cosine_warmup_decay.";
    ScheduleUnit "schedule_unit" "applied_updates" "applied_updates, update_attempts, microbatches, examples or supervised_tokens.";
    Warmup "warmup" "20" "Steps of the schedule until the peak.";
    WarmupStart "warmup_start" "first_step" "first_step: (s + 1) / warmup; zero: s / warmup.";
    ScheduleTotal "schedule_total" "400" "Steps of the schedule until the rate is 0.";
    ClipNorm "clip_norm" "0" "Largest norm of the whole gradient; 0 for no clipping.";
    Precision "precision" "f32" "f32, or f16: activations and gradients rounded through half precision.";
    LossScale "loss_scale" "off" "off or dynamic.";
    InitScale "init_scale" "65536" "First loss scale.";
    GrowthFactor "growth_factor" "2" "What the loss scale grows by.";
    BackoffFactor "backoff_factor" "0.5" "What the loss scale shrinks by after a gradient that is not finite.";
    GrowthInterval "growth_interval" "2000" "Finite attempts in a row until the loss scale grows.";
    InjectInf "inject_inf" "" "attempt:microbatch:replica, all counted from 1, separated by commas: where an infinity is put into the gradient.";
    Dropout "dropout" "0" "Share of hidden values set to 0 in training.";
    DropoutOrder "dropout_order" "stream" "stream: one generator, drawn from in the order of work; by_example: keyed by example, so that no split changes it.";
    BatchNorm "batch_norm" "no" "BatchNorm over the positions of each microbatch, in the token MLP. yes or no.";
    BatchNormMomentum "batch_norm_momentum" "0.1" "Share of each batch in the running statistics, or cumulative.";
    Lanes "lanes" "token_weighted,mean_of_means" "1 to 4 lanes, separated by commas: a convention, then its loop faults, each after a plus.";
    Tolerance "tolerance" "0.00001" "Relative difference below which two gradients count as close.";
    MemoryLimit "memory_limit" "1024" "MiB in use at which a run is stopped.";
    Seed "seed" "1" "Seed of all randomness.";
    BudgetUnit "budget_unit" "applied_updates" "applied_updates, examples or supervised_tokens.";
    Budget "budget" "400" "When the run ends.";
}

impl Key {
    /// The key called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|key| key.name() == name)
    }
}
