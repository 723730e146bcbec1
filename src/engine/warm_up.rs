//! Compiling a run's kernels ahead of it, piece by piece, so that a page can show progress.

use super::Device;
use crate::{
    data::Corpus,
    protocol::{Fault, Preparation},
    setup::Setup,
};

/// One group of the real setup, computed on throw-away state.
///
/// ```ignore
/// let mut warm_up = WarmUp::new(&device, &setup, &corpus)?;
/// while let Some(progress) = warm_up.step().await? { post(progress); yield_to_the_event_loop().await; }
/// ```
pub struct WarmUp {}

impl WarmUp {
    /// Nothing is computed yet.
    pub fn new(device: &Device, setup: &Setup, corpus: &Corpus) -> Result<Self, Fault> {
        let _ = (device, setup, corpus);
        unimplemented!("being written")
    }

    /// Computes the next piece and says how far it is; `None` once all are done.
    pub async fn step(&mut self) -> Result<Option<Preparation>, Fault> {
        unimplemented!("being written")
    }
}
