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
    Sharding "sharding" "interleaved" "interleaved, microbatches or blocks.";
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
    Schedule "schedule" "constant" "constant or linear_warmup_decay.";
    Warmup "warmup" "20" "Applied updates until the peak.";
    ScheduleTotal "schedule_total" "400" "Applied updates until the rate is 0.";
    Lanes "lanes" "token_weighted,mean_of_means" "1 to 4 conventions, separated by commas.";
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
