//! All sums of a report in one walk over the gradients, on the CPU device. Its twin is [`super::combine`] with [`super::compare`], which
//! other devices use.

use burn::{
    backend::{Backend, Dispatch, Flex, backend_extension, tensor::FloatTensor},
    tensor::{Tensor, TensorData},
};
use microbatch_kernels::compare::{Against, both_ways, compare};

use super::{compare::Compared, sums::Task};
use crate::engine::{
    microbatch::to_f32,
    program::Recorded,
    readback::{Readback, Slot, Values},
};

/// Where the sums will stand: six numbers for each row, then for the microbatches' sum and its reverse.
pub(super) struct Walked {
    sums: Slot,
    reference: usize,
}

/// What the walk is told beside the vectors.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    /// Numbers of a vector.
    length: usize,
    /// Coefficients, one entry a vector.
    rows: Vec<Vec<f32>>,
    /// The row that the others are compared with.
    reference: usize,
    /// The vectors of each replica, in the order of work.
    replicas: Vec<Vec<usize>>,
}

/// `None` where the device has no loops of its own, or nothing is there to walk over.
pub(super) fn ask(task: &Task<'_>, readback: &mut Readback) -> Option<Walked> {
    if !Recorded::weighs_rows(&task.parameters.device()) {
        return None;
    }
    let there: Vec<(usize, &Tensor<1>)> = task
        .gradients
        .iter()
        .flatten()
        .enumerate()
        .filter_map(|(k, gradient)| Some((k, gradient.as_ref()?)))
        .collect();
    if there.is_empty() {
        return None;
    }
    let row = |row: &Vec<f64>| {
        there
            .iter()
            .map(|(k, _)| row.get(*k).copied().map_or(0.0, to_f32))
            .collect()
    };
    let of_replica = |replica: u32| {
        let stands = there.iter().enumerate();
        let own = stands.filter(|(_, (k, _))| task.group.microbatches.get(*k).is_some_and(|k| k.replica == replica));
        own.map(|(at, _)| at).collect()
    };
    let walk = Walk {
        length: task.parameters.dims()[0],
        rows: task.directions.units.iter().map(row).collect(),
        reference: task.reference,
        replicas: (0..task.group.replicas).map(of_replica).collect(),
    };
    let vectors = Tensor::cat(there.iter().map(|(_, gradient)| (*gradient).clone()).collect(), 0);
    let sums: Tensor<1> = Tensor::from_dispatch(Dispatch::walk(vectors.into_dispatch(), walk));
    Some(Walked {
        sums: readback.add(&sums),
        reference: task.reference,
    })
}

impl Walked {
    pub(super) fn answer(&self, values: &Values) -> (Vec<Compared>, f64) {
        let all: Vec<Against> = values.of(self.sums).chunks_exact(6).map(whole).collect();
        let (rows, noise) = all.split_at(all.len().saturating_sub(2));
        let against =
            |sums: &Against, reference: &Against| Compared::new(sums.square, sums.along, sums.apart, reference.square);
        let none = Against::default();
        let reference = rows.get(self.reference).unwrap_or(&none);
        let noise = match noise {
            [forth, back] => against(back, forth).relative_l2(1.0),
            _ => f64::NAN,
        };
        (rows.iter().map(|row| against(row, reference)).collect(), noise)
    }
}

/// On the CPU device.
#[backend_extension(Flex)]
pub(super) trait Walks: Backend {
    /// The sums of `walk` over `vectors`, which stand one after another: each f64 as two f32 whose sum it is.
    fn walk(vectors: FloatTensor<Self>, walk: Walk) -> FloatTensor<Self>;
}

impl Walks for Flex {
    fn walk(vectors: FloatTensor<Self>, walk: Walk) -> FloatTensor<Self> {
        let vectors = vectors.to_contiguous();
        let numbers = vectors.as_slice().unwrap_or_default();
        let rows = compare(numbers, walk.length, &walk.rows, walk.reference);
        let noise = both_ways(numbers, walk.length, &walk.replicas);
        let sums: Vec<f32> = rows.iter().chain(&noise).flat_map(halves).collect();
        let count = sums.len();
        FloatTensor::<Self>::from_data(TensorData::new(sums, [count]))
    }
}

fn halves(sums: &Against) -> [f32; 6] {
    let [square, along, apart] = [sums.square, sums.along, sums.apart].map(|sum| {
        let high = to_f32(sum);
        // Beyond f32 it is infinite, and nothing is left over.
        let low = if high.is_finite() {
            to_f32(sum - f64::from(high))
        } else {
            0.0
        };
        [high, low]
    });
    [square[0], square[1], along[0], along[1], apart[0], apart[1]]
}

fn whole(halves: &[f32]) -> Against {
    let sum = |at: usize| halves.iter().skip(at).take(2).map(|&half| f64::from(half)).sum();
    Against {
        square: sum(0),
        along: sum(2),
        apart: sum(4),
    }
}
