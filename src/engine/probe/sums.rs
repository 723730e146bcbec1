//! What a report needs of its gradients, asked of the device: by its own loops in one walk where it has them, else by burn's operations.

use burn::tensor::Tensor;

use super::{
    combine,
    compare::{Compared, Comparison},
};
use crate::{
    batch::GroupFacts,
    engine::readback::{Readback, Values},
};

/// Gradients and what is made of them.
pub(super) struct Task<'a> {
    /// Rows of coefficients, one entry a gradient.
    pub(super) rows: &'a [Vec<f64>],
    /// The row that the others are compared with.
    pub(super) reference: usize,
    /// One a microbatch, and then others; `None` is zero.
    pub(super) gradients: &'a [Option<Tensor<1>>],
    /// Of the microbatches.
    pub(super) group: &'a GroupFacts,
    pub(super) parameters: &'a Tensor<1>,
}

/// Sums on their way.
pub(super) enum Sums {
    #[cfg(feature = "cpu")]
    Walked(super::walk::Walked),
    ByOperations {
        rows: Comparison,
        noise: Comparison,
    },
}

impl Sums {
    pub(super) fn ask(task: &Task<'_>, readback: &mut Readback) -> Self {
        #[cfg(feature = "cpu")]
        if let Some(walked) = super::walk::ask(task, readback) {
            return Self::Walked(walked);
        }
        let vectors = combine::all(task.rows, task.gradients, task.parameters);
        let reference = vectors.clone().narrow(0, task.reference, 1);
        let of_microbatches = &task.gradients[..task.group.microbatches.len()];
        let [forth, back] = combine::both_ways(task.group, of_microbatches, task.parameters);
        Self::ByOperations {
            rows: Comparison::ask(readback, vectors, reference),
            noise: Comparison::ask(readback, back, forth),
        }
    }

    /// Each row against the reference, and what summing the microbatches in reverse changes of their sum.
    pub(super) fn answer(&self, values: &Values) -> (Vec<Compared>, f64) {
        match self {
            #[cfg(feature = "cpu")]
            Self::Walked(walked) => walked.answer(values),
            Self::ByOperations { rows, noise } => {
                let noise = noise
                    .answer(values)
                    .first()
                    .map_or(f64::NAN, |sums| sums.relative_l2(1.0));
                (rows.answer(values), noise)
            }
        }
    }
}
