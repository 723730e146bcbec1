//! What a report needs of its gradients, asked of the device: by its own loops in one walk where it has them, else by burn's operations.

use burn::tensor::Tensor;

use super::{
    combine,
    compare::{Compared, Comparison},
    direction::Directions,
};
use crate::{
    batch::GroupFacts,
    engine::{
        Device,
        program::Recorded,
        readback::{Readback, Values},
    },
};

/// Gradients and what is made of them.
pub(super) struct Task<'a> {
    /// Sums that are asked for, with one coefficient a gradient of all parts.
    pub(super) directions: &'a Directions,
    /// The direction that the others are compared with.
    pub(super) reference: usize,
    /// In parts, the first of which has one a microbatch; `None` is zero.
    pub(super) gradients: &'a [Vec<Option<Tensor<1>>>],
    /// Of the microbatches.
    pub(super) group: &'a GroupFacts,
    pub(super) parameters: &'a Tensor<1>,
}

impl Task<'_> {
    /// The directions part by part, which is their order. A gradient that is no number is of no account where its part is not asked for.
    fn by_parts(&self) -> Vec<Tensor<2>> {
        let mut before = 0;
        let mut all = Vec::new();
        for (part, gradients) in self.gradients.iter().enumerate() {
            let own = before..before + gradients.len();
            before = own.end;
            let directions = self.directions.units.iter().zip(&self.directions.parts);
            let rows: Vec<Vec<f64>> = directions
                .filter(|(_, of)| **of == part)
                .map(|(row, _)| row[own.clone()].to_vec())
                .collect();
            if !rows.is_empty() {
                all.push(combine::all(&rows, gradients, self.parameters));
            }
        }
        all
    }
}

/// Gradients of `there` that are copied while they are summed.
pub(super) fn copied(device: &Device, there: usize) -> usize {
    if Recorded::weighs_rows(device) {
        there
    } else {
        there.min(combine::BLOCK)
    }
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
        Self::by_operations(task, readback)
    }

    /// By burn's operations, whatever the device has of its own.
    fn by_operations(task: &Task<'_>, readback: &mut Readback) -> Self {
        let vectors = Tensor::cat(task.by_parts(), 0);
        let reference = vectors.clone().narrow(0, task.reference, 1);
        let of_microbatches = task.gradients.first().map_or(&[][..], Vec::as_slice);
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

#[cfg(all(test, feature = "engine"))]
#[allow(clippy::unwrap_used, reason = "a broken premise must fail its test at once")]
mod tests {
    use burn::tensor::TensorData;

    use super::*;
    use crate::batch::MicrobatchFacts;

    fn vector(length: usize, seed: usize) -> Tensor<1> {
        let values: Vec<f32> = (0..length)
            .map(|i| ((i * 37 + seed * 101 + 5) % 113) as f32 / 56.5 - 1.0)
            .collect();
        Tensor::from_data(TensorData::new(values, [length]), &Device::flex())
    }

    /// More gradients than one block, some of nothing, unequal replicas, and a second part.
    #[test]
    fn both_ways_of_summing_agree() {
        let length = 203;
        let parameters = vector(length, 0);
        let microbatch = |(k, replica): (u32, u32)| MicrobatchFacts {
            replica,
            index: k,
            examples: 1,
            scored_examples: 1,
            supervised: 3,
            positions: 4,
            unpadded: 3,
        };
        let replicas = (0..20).map(|k| (k, u32::from(k % 3 == 0)));
        let group = GroupFacts {
            replicas: 2,
            nominal_accumulation: 10,
            microbatches: replicas.map(microbatch).collect(),
        };
        let plain = (0..20).map(|k| (k % 7 != 5).then(|| vector(length, k + 1))).collect();
        let gradients = [plain, vec![Some(vector(length, 50)), None]];
        let uniform = |of: fn(usize) -> f64| (0, (0..22).map(|k| if k < 20 { of(k) } else { 0.0 }).collect());
        let last = (1, (0..22).map(|k| if k < 20 { 0.0 } else { 0.25 }).collect());
        let asked = [
            uniform(|_| 0.1),
            uniform(|k| 1.0 / (k + 1) as f64),
            uniform(|_| 0.3),
            last,
        ];
        let directions = Directions::of(&asked, &[3.0; 22]);
        assert_eq!(directions.parts, [0, 0, 1]);
        let task = Task {
            directions: &directions,
            reference: 0,
            gradients: &gradients,
            group: &group,
            parameters: &parameters,
        };
        let answer = |ask: fn(&Task<'_>, &mut Readback) -> Sums| {
            let mut readback = Readback::default();
            let sums = ask(&task, &mut readback);
            sums.answer(&pollster::block_on(readback.read()).unwrap())
        };
        let (walked, noise) = answer(Sums::ask);
        let (operations, other_noise) = answer(Sums::by_operations);
        assert_eq!((walked.len(), operations.len()), (3, 3));
        for (ours, other) in walked.iter().zip(&operations) {
            for scale in [1.0, 1.0 + 1e-3, -0.5, 40.0] {
                let pairs = [
                    (ours.norm(scale), other.norm(scale)),
                    (ours.cosine(scale), other.cosine(scale)),
                    (ours.relative_l2(scale), other.relative_l2(scale)),
                ];
                for (ours, other) in pairs {
                    assert!(
                        (ours - other).abs() <= 1e-6 * (1.0 + other.abs()),
                        "{ours} against {other}"
                    );
                }
            }
        }
        assert!(
            noise > 0.0 && (noise - other_noise).abs() <= 1e-3 * noise,
            "{noise} {other_noise}"
        );
    }
}
