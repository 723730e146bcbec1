//! Before a device is used, it computes one small group and is compared with the f64 oracle.

use burn::tensor::{Tensor, TensorData};
use web_time::Instant;

use super::{
    Device,
    lane::Lane,
    microbatch::Microbatch,
    model::{Network, layers::half},
    readback::{Readback, Slot, Values},
    settings::Settings,
};
use crate::{
    batch::{
        Convention, ConventionId, Example, ExampleId, GroupPlan, IGNORE_INDEX, LastGroup, PaddedBatch, Recipe,
        Schedule, ScheduleShape, Sharding, Split, Unit,
        oracle::{
            Contribution, MlpShape, TransformerShape, combine, half::to_half, mlp_gradient, relative_l2,
            token_cross_entropy, token_weights, transformer_gradient,
        },
        plan::{EpochStart, plan_epoch},
        schedule::WarmupStart,
    },
    protocol::{Fault, SelfCheck},
    setup::{Optimizer, Precision},
};

/// Room for a GPU's fast tanh and exp; a wrong kernel misses it by far.
const TOLERANCE: f64 = 1e-4;

const CONVENTION: ConventionId = ConventionId::TokenWeighted;

/// Every kernel that a run can use is used by one of these, in f32; of attention, those for heads of this size. The first has an odd number of
/// parameters and the second a multiple of four, for which burn's operations have kernels of their own.
const NETWORKS: [Network; 2] = [
    Network::TokenMlp(MlpShape {
        vocab: 11,
        embed: 6,
        hidden: 8,
        batch_norm: false,
    }),
    // Attention has kernels of its own for each size of a head: these are those of the default model, so that they are checked, and not
    // compiled twice.
    Network::Transformer(TransformerShape {
        vocab: 11,
        width: 32,
        layers: 1,
        heads: 2,
        context: 9,
    }),
];

/// Computes the check group with a token MLP and a transformer, and rounds some numbers to half precision; the numbers are the worst. The caller reports them, and
/// refuses the device where [`SelfCheck::passed`] is false (with [`Fault::DeviceComputesWrongly`], made by [`refusal`]).
pub async fn self_check(device: &Device) -> Result<SelfCheck, Fault> {
    let began = Instant::now();
    let examples = examples();
    let Some(group) = group(&examples) else {
        return Err(Fault::DeviceLost {
            reason: "the check group is empty".to_owned(),
        });
    };
    // All is asked of the device first, and what it must be is computed here while the device compiles and works.
    let mut readback = Readback::default();
    let rounded = round_off(device, &mut readback);
    let computed = NETWORKS.map(|network| Computed::ask(network, device, &group, &examples, &mut readback));
    let expected = NETWORKS.map(|network| expected(network, &group, &examples));
    let values = readback.read().await?;
    let networks = computed.iter().zip(&expected);
    let worst = networks.fold(rounding_error(values.of(rounded)), |worst, (computed, expected)| {
        worst.or_worse(computed.errors(expected, &group, &values))
    });
    Ok(SelfCheck {
        gradient_error: worst.gradient,
        loss_error: worst.loss,
        tolerance: TOLERANCE,
        took_ms: began.elapsed().as_secs_f64() * 1e3,
    })
}

#[derive(Clone, Copy, Default)]
struct Errors {
    gradient: f64,
    loss: f64,
}

impl Errors {
    /// The larger of each; NaN, which no comparison excuses, stays.
    fn or_worse(self, other: Self) -> Self {
        let worse = |a: f64, b: f64| if a.is_nan() || a > b { a } else { b };
        Self {
            gradient: worse(self.gradient, other.gradient),
            loss: worse(self.loss, other.loss),
        }
    }
}

/// What the check group must come to: its gradient and its loss.
fn expected(network: Network, group: &GroupPlan, examples: &[Example]) -> (Vec<f64>, f64) {
    oracle(
        network,
        Convention::of(CONVENTION),
        group,
        examples,
        &parameters(network),
    )
}

/// What a device was asked for.
struct Computed {
    gradient: Slot,
    sums: Vec<Slot>,
}

impl Computed {
    fn ask(
        network: Network,
        device: &Device,
        group: &GroupPlan,
        examples: &[Example],
        readback: &mut Readback,
    ) -> Self {
        let device = device.clone().without_autodiff();
        let parameters = parameters(network);
        let narrow: Vec<f32> = parameters.iter().copied().map(super::microbatch::to_f32).collect();
        let start = Tensor::<1>::from_data(TensorData::new(narrow, [parameters.len()]), &device);
        let schedule = Schedule {
            shape: ScheduleShape::Constant,
            peak: 0.1,
            warmup: 0,
            total: 1,
            start: WarmupStart::default(),
        };
        let settings = Settings {
            accumulation: group.nominal_accumulation,
            optimizer: Optimizer::Sgd { momentum: 0.0 },
            schedule,
            schedule_unit: Unit::AppliedUpdates,
            clip_norm: None,
            loss_scale: None,
            precision: Precision::F32,
            inject_inf: Vec::new(),
        };
        let convention = Convention::of(CONVENTION);
        let mut lane = Lane::new(convention, Recipe::default(), network, &start, group.replicas, settings);
        let microbatches: Vec<Microbatch> = group
            .microbatches
            .iter()
            .map(|k| Microbatch::new(&device, PaddedBatch::of(examples, &k.ids)))
            .collect();
        let reduced = lane.gradient_of(group, &microbatches);
        Self {
            gradient: readback.add(&reduced.gradient),
            sums: reduced.sums.iter().flatten().map(|sum| readback.add(sum)).collect(),
        }
    }

    fn errors(&self, (gradient, loss): &(Vec<f64>, f64), group: &GroupPlan, values: &Values) -> Errors {
        let ours: Vec<f64> = values.of(self.gradient).iter().copied().map(f64::from).collect();
        let sum: f64 = self.sums.iter().map(|&sum| values.one(sum)).sum();
        // The device counts the scored positions too.
        let counted: f32 = self.sums.iter().filter_map(|&sum| values.of(sum).get(1)).sum();
        let counts_right = (f64::from(counted) - group.supervised() as f64).abs() < 0.5;
        Errors {
            gradient: if ours.len() == gradient.len() {
                relative_l2(&ours, gradient)
            } else {
                f64::NAN
            },
            loss: if counts_right {
                (sum - loss).abs() / loss
            } else {
                f64::NAN
            },
        }
    }
}

/// Numbers on both sides of every place where rounding to half precision changes its way.
const TO_ROUND: [f32; 16] = [
    0.1,
    -0.1,
    3.333_333_3,
    2048.5,
    -2049.5,
    65504.0,
    65519.0,
    65520.0,
    -1e9,
    6.2e-5,
    6.1e-5,
    3e-6,
    6e-8,
    2.9e-8,
    -1e-20,
    0.0,
];

fn round_off(device: &Device, readback: &mut Readback) -> Slot {
    let data = TensorData::new(TO_ROUND.to_vec(), [1, TO_ROUND.len()]);
    let rounded = half(Tensor::<2>::from_data(data, &device.clone().without_autodiff()));
    readback.add(&rounded.reshape([TO_ROUND.len()]))
}

/// A run in half precision needs these exactly.
fn rounding_error(rounded: &[f32]) -> Errors {
    let wanted = |x: f32| super::microbatch::to_f32(to_half(f64::from(x)));
    let exact = rounded.len() == TO_ROUND.len()
        && TO_ROUND
            .iter()
            .zip(rounded)
            .all(|(&x, ours)| ours.to_bits() == wanted(x).to_bits());
    Errors {
        gradient: if exact { 0.0 } else { f64::NAN },
        loss: 0.0,
    }
}

/// The fault of a failed check; `None` where it passed.
pub fn refusal(check: &SelfCheck) -> Option<Fault> {
    (!check.passed()).then_some(Fault::DeviceComputesWrongly {
        gradient_error: check.gradient_error,
        loss_error: check.loss_error,
        tolerance: check.tolerance,
    })
}

fn oracle(
    network: Network,
    convention: &Convention,
    group: &GroupPlan,
    examples: &[Example],
    parameters: &[f64],
) -> (Vec<f64>, f64) {
    let compute = |ids: &[ExampleId]| {
        let batch = PaddedBatch::of(examples, ids);
        let weights = token_weights(convention.token_weights, &batch);
        let (tokens, labels) = (&batch.tokens, &batch.labels);
        let (losses, gradient) = match network {
            Network::TokenMlp(shape) => mlp_gradient(shape, parameters, tokens, labels, &weights),
            Network::Transformer(shape) => {
                transformer_gradient(shape, parameters, batch.width, tokens, labels, &weights)
            }
            // Not among the networks of the check; without a twin nothing passes.
            Network::Line(_) => (token_cross_entropy(&[], &[], &[], 1), Vec::new()),
        };
        Contribution {
            loss_sum: losses.sum,
            gradient,
        }
    };
    let contributions: Vec<Contribution> = group.microbatches.iter().map(|k| compute(&k.ids)).collect();
    let loss = contributions.iter().map(|c| c.loss_sum).sum();
    (combine(convention, &group.facts(), &contributions), loss)
}

/// Two replicas, uneven lengths, a masked prompt and a padded row: what a real group has.
fn group(examples: &[Example]) -> Option<GroupPlan> {
    let order: Vec<ExampleId> = examples.iter().map(|example| example.id).collect();
    let start = EpochStart {
        epoch: 0,
        first_group: 0,
    };
    let split = Split::new(2, 2, 2)?;
    plan_epoch(
        examples,
        &order,
        split,
        Sharding::Interleaved,
        LastGroup::Process,
        start,
    )
    .groups
    .into_iter()
    .next()
}

fn examples() -> Vec<Example> {
    let token = |e: u32, t: u32| 1 + (7 * e + 3 * t * t + 5 * t + e * t) % 10;
    let example = |(e, length): (u32, u32)| Example {
        id: ExampleId(e),
        tokens: (0..length).map(|t| token(e, t)).collect(),
        labels: (0..length)
            .map(|t| {
                if t < e % 2 {
                    IGNORE_INDEX
                } else {
                    i32::try_from(token(e, t + 1)).unwrap_or(IGNORE_INDEX)
                }
            })
            .collect(),
    };
    (0..).zip([7, 3, 1, 9, 5, 2, 8, 4]).map(example).collect()
}

/// Irregular and exact in f32 and f64 alike up to one rounding.
fn parameters(network: Network) -> Vec<f64> {
    (0..network.parameters())
        .map(|i| (((37 * i + 5) % 101) as f64 - 50.0) / 100.0)
        .collect()
}
