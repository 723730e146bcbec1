//! From a number of processes to D.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

/// How a job's processes are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    /// All processes, usually one a GPU.
    pub world: NonZeroU32,
    /// TP: tensor-parallel size.
    pub tensor: NonZeroU32,
    /// PP: pipeline-parallel size.
    pub pipeline: NonZeroU32,
    /// CP: context-parallel size.
    pub context: NonZeroU32,
}

/// The world size is no multiple of TP x PP x CP, so no whole D exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{world} processes are not a multiple of {model_parallel} (TP x PP x CP)")]
pub struct NotDivisible {
    /// All processes.
    pub world: u32,
    /// TP x PP x CP.
    pub model_parallel: u64,
}

impl Topology {
    /// D = world / (TP x PP x CP).
    ///
    /// ```
    /// use microbatch_lab::batch::Topology;
    /// use std::num::NonZeroU32;
    /// let n = |x| NonZeroU32::new(x).unwrap();
    /// let cluster = Topology { world: n(16), tensor: n(4), pipeline: n(2), context: n(1) };
    /// assert_eq!(cluster.replicas().unwrap(), n(2));
    /// ```
    pub fn replicas(self) -> Result<NonZeroU32, NotDivisible> {
        let model_parallel =
            (u64::from(self.tensor.get()) * u64::from(self.pipeline.get())).saturating_mul(self.context.get().into());
        let world = u64::from(self.world.get());
        let refuse = NotDivisible {
            world: self.world.get(),
            model_parallel,
        };
        if world % model_parallel != 0 {
            return Err(refuse);
        }
        u32::try_from(world / model_parallel)
            .ok()
            .and_then(NonZeroU32::new)
            .ok_or(refuse)
    }
}
