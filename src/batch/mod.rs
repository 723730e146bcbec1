//! The arithmetic of one update: how many examples, in which microbatch, divided by what, counted in which unit.
//!
//! Pure: no IO, no burn, no browser. Every number the engine reports has its plain f64 twin here or in [`oracle`].

pub mod barren;
pub mod clip;
pub mod convention;
pub mod counters;
pub mod dropout;
pub mod empty_mean;
pub mod example;
pub mod facts;
pub mod fault;
pub mod fit;
pub mod lane_rule;
pub mod logged;
pub mod losses;
pub mod no_sync;
pub mod oracle;
pub mod order;
pub mod plan;
pub mod recipe;
pub mod scaler;
pub mod schedule;
pub mod scheduler_clock;
pub mod sharding;
pub mod split;
pub mod symptom;
pub mod token_weight;
pub mod topology;
pub mod weighing;
pub mod zero_grad;

pub use convention::{Convention, ConventionId, Pass, TokenWeights};
pub use counters::{Counters, Unit};
pub use example::{Example, ExampleId, IGNORE_INDEX, PAD_ID, PaddedBatch};
pub use facts::{GroupFacts, MicrobatchFacts};
pub use fault::{Fault, FaultId, Faults};
pub use lane_rule::LaneRule;
pub use losses::GroupLoss;
pub use order::epoch_order;
pub use plan::{EpochPlan, GroupPlan, LastGroup, MicrobatchPlan};
pub use recipe::Recipe;
pub use schedule::{Schedule, ScheduleShape};
pub use sharding::Sharding;
pub use split::Split;
pub use symptom::Symptom;
pub use token_weight::{NoWeight, token_weight};
pub use topology::Topology;
