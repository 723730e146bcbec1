//! From what the lanes hold on the device to a row of numbers: what is read, and what is made of it.

use burn::tensor::Tensor;

use crate::{
    batch::{
        GroupLoss, GroupPlan,
        oracle::{cosine, norm, relative_l2},
    },
    engine::{
        checksum::fnv1a,
        lane::Lane,
        readback::{Readback, Slot, Values, read},
        update::Reduced,
    },
    protocol::{Apart, Fault, ReplicaSpread},
};

/// Up to this many parameters, all lanes together, gradients and parameters are read back whole after each update: norms and
/// distances are then computed in f64, and parameters have checksums. Beyond it the device sums them up in f32.
pub const READ_WHOLE: usize = 262_144;

/// Where one lane's numbers will stand.
pub(super) struct Slots {
    sums: Vec<Option<Slot>>,
    weighted: Vec<Option<Slot>>,
    norms: Vec<Slot>,
    /// Squared norms of other replicas' gradients.
    others: Vec<Slot>,
    vectors: Vectors,
    spread: Option<Slot>,
}

enum Vectors {
    Whole {
        gradient: Slot,
        first: Slot,
        last: Slot,
        updated: Slot,
    },
    Summed {
        gradient: Slot,
        apart: Option<[Slot; 4]>,
    },
}

/// One lane's numbers.
pub(super) struct Numbers {
    pub(super) loss_sums: Vec<f64>,
    /// Where the convention weighs tokens in a way of its own.
    pub(super) weighted_sums: Option<Vec<f64>>,
    pub(super) clip_norms: Vec<f64>,
    pub(super) gradient_norm: f64,
    /// Of every replica's gradient.
    pub(super) finite: bool,
    pub(super) checksums: Option<[u64; 3]>,
    pub(super) apart: Option<Apart>,
    pub(super) replicas: ReplicaSpread,
}

impl Numbers {
    /// The parameters after the group are those before its last update.
    pub(super) fn stood_still(&mut self) {
        self.checksums = self.checksums.map(|[first, last, _]| [first, last, last]);
    }

    /// Nothing was computed: no loss, no gradient.
    pub(super) fn computed_nothing(&mut self) {
        self.loss_sums.clear();
        self.gradient_norm = f64::NAN;
    }
}

/// Asks for one lane's numbers. `first` is the first lane, if this is another.
pub(super) fn ask(
    readback: &mut Readback,
    lane: &Lane,
    reduced: &Reduced,
    first: Option<(&Lane, &Reduced)>,
    whole: bool,
) -> Slots {
    let mut each = |sums: &[Option<Tensor<1>>]| {
        sums.iter()
            .map(|sum| sum.as_ref().map(|sum| readback.add(sum)))
            .collect()
    };
    let (sums, weighted) = (each(&reduced.sums), each(&reduced.weighted));
    let norms = reduced.norms.iter().map(|norm| readback.add(norm)).collect();
    let others = reduced
        .others
        .iter()
        .map(|gradient| readback.add(&squared_norm(gradient)))
        .collect();
    let updated = lane.parameters(0);
    let vectors = if whole {
        Vectors::Whole {
            gradient: readback.add(&reduced.gradient),
            first: readback.add(&reduced.seen.0),
            last: readback.add(&reduced.seen.1),
            updated: readback.add(updated),
        }
    } else {
        let g = &reduced.gradient;
        let apart = first.map(|(first_lane, first)| {
            let (g0, p0) = (&first.gradient, first_lane.parameters(0));
            [
                readback.add(&(g.clone() * g0.clone()).sum()),
                readback.add(&squared_norm(&(g.clone() - g0.clone()))),
                readback.add(&squared_norm(&(updated.clone() - p0.clone()))),
                readback.add(&squared_norm(p0)),
            ]
        });
        Vectors::Summed {
            gradient: readback.add(&squared_norm(g)),
            apart,
        }
    };
    let spread = (!lane.replicas().in_step()).then(|| readback.add(&largest_difference(lane)));
    Slots {
        sums,
        weighted,
        norms,
        others,
        vectors,
        spread,
    }
}

pub(super) fn squared_norm(x: &Tensor<1>) -> Tensor<1> {
    x.clone().square().sum()
}

/// The largest difference of one parameter between replica 0 and another.
fn largest_difference(lane: &Lane) -> Tensor<1> {
    let base = lane.parameters(0);
    let all = lane
        .replicas()
        .all_parameters()
        .skip(1)
        .map(|other| (other.clone() - base.clone()).abs().max());
    all.reduce(Tensor::max_pair)
        .unwrap_or_else(|| base.zeros_like().narrow(0, 0, 1))
}

/// One lane's numbers from what was read. `first` are the slots and the gradient norm of the first lane, if this is another.
pub(super) async fn answer(
    values: &Values,
    slots: &Slots,
    reduced: &Reduced,
    first: Option<(&Slots, f64)>,
) -> Result<Numbers, Fault> {
    let each = |slots: &[Option<Slot>]| -> Vec<f64> {
        slots
            .iter()
            .map(|slot| slot.map_or(0.0, |slot| values.one(slot)))
            .collect()
    };
    let mut others_finite = true;
    for (&slot, gradient) in slots.others.iter().zip(&reduced.others) {
        others_finite &= summed_norm(values.one(slot), gradient).await?.1;
    }
    let replicas = match slots.spread {
        None => ReplicaSpread::InStep,
        Some(slot) => ReplicaSpread::Parted {
            largest: values.one(slot),
        },
    };
    let (gradient_norm, finite, checksums, apart) = match slots.vectors {
        Vectors::Whole {
            gradient,
            first: seen_first,
            last,
            updated,
        } => {
            let g = widened(values.of(gradient));
            let checksums = [seen_first, last, updated].map(|slot| fnv1a(values.of(slot)));
            let apart = first.and_then(|(first, _)| apart_from(values, &first.vectors, &g, values.of(updated)));
            (norm(&g), g.iter().all(|x| x.is_finite()), Some(checksums), apart)
        }
        Vectors::Summed { gradient, apart } => {
            let (norm, finite) = summed_norm(values.one(gradient), &reduced.gradient).await?;
            let apart = apart.zip(first).map(|(slots, (_, first_norm))| {
                let [along, gradients, parameters, scale] = slots.map(|slot| values.one(slot));
                Apart {
                    gradient_cosine: along / (norm * first_norm),
                    gradient_relative_l2: gradients.sqrt() / first_norm,
                    parameter_distance: (parameters / scale).sqrt(),
                }
            });
            (norm, finite, None, apart)
        }
    };
    Ok(Numbers {
        loss_sums: each(&slots.sums),
        weighted_sums: (!slots.weighted.is_empty()).then(|| each(&slots.weighted)),
        clip_norms: slots.norms.iter().map(|&slot| values.one(slot)).collect(),
        gradient_norm,
        finite: finite && others_finite,
        checksums,
        apart,
        replicas,
    })
}

/// A squared norm that is finite proves a finite gradient. One that is not may only have overflowed, so then the gradient is looked
/// at itself: a second readback, in the rarest of cases.
pub(super) async fn summed_norm(squared: f64, gradient: &Tensor<1>) -> Result<(f64, bool), Fault> {
    if squared.is_finite() {
        return Ok((squared.sqrt(), true));
    }
    let g = widened(&read(gradient).await?);
    Ok((norm(&g), g.iter().all(|x| x.is_finite())))
}

fn apart_from(values: &Values, first: &Vectors, gradient: &[f64], updated: &[f32]) -> Option<Apart> {
    let Vectors::Whole {
        gradient: g0,
        updated: p0,
        ..
    } = first
    else {
        return None;
    };
    let (g0, p0) = (widened(values.of(*g0)), widened(values.of(*p0)));
    Some(Apart {
        gradient_cosine: cosine(gradient, &g0),
        gradient_relative_l2: relative_l2(gradient, &g0),
        parameter_distance: relative_l2(&widened(updated), &p0),
    })
}

fn widened(values: &[f32]) -> Vec<f64> {
    values.iter().copied().map(f64::from).collect()
}

/// The distance of two lanes' parameters as they stand now, for a lane whose update was taken back.
pub(super) async fn parameter_distance(lane: &Lane, first: &Lane) -> Result<f64, Fault> {
    let mut readback = Readback::default();
    let (p0, difference) = (
        first.parameters(0),
        lane.parameters(0).clone() - first.parameters(0).clone(),
    );
    let (distance, scale) = (
        readback.add(&squared_norm(&difference)),
        readback.add(&squared_norm(p0)),
    );
    let values = readback.read().await?;
    Ok((values.one(distance) / values.one(scale)).sqrt())
}

/// The group's loss as a lane saw it: `plan` is the lane's own view of the group.
pub(super) fn group_loss(plan: &GroupPlan, loss_sums: &[f64]) -> GroupLoss {
    GroupLoss::from_sums(
        loss_sums
            .iter()
            .copied()
            .zip(plan.microbatches.iter().map(|k| k.facts.supervised)),
    )
}
