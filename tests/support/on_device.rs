//! A golden's groups on the engine's own way: a session with one lane, whose convention and loop are the lab's own.

use microbatch_lab::{
    batch::{
        ConventionId, Example, ExampleId, FaultId, Faults, LaneRule, LastGroup, PAD_ID, PaddedBatch, Recipe, Schedule,
        ScheduleShape, Sharding, Split, Unit, oracle::norm, oracle::relative_l2, scaler::ScalerConfig,
        schedule::WarmupStart,
    },
    engine::{Advance, Device, Session, model::Network},
    protocol::{GroupRow, LaneRow},
    setup::{Budget, Draft, Injection, Optimizer, Setup, parse::parse},
};

use super::golden;

/// Examples in the order in which blocks of replicas take them, and how they are cut.
pub(crate) struct Data {
    pub(crate) split: Split,
    pub(crate) examples: Vec<Example>,
    pub(crate) last_group: LastGroup,
}

impl Data {
    pub(crate) fn new(m: u32, accumulation: u32, replicas: u32, examples: Vec<Example>) -> Self {
        Self {
            split: Split::new(m, accumulation, replicas).expect("no zero"),
            examples,
            last_group: LastGroup::Process,
        }
    }

    /// Group after group on one process.
    pub(crate) fn of_groups(groups: &[Vec<PaddedBatch>]) -> Self {
        let small = |n: usize| u32::try_from(n).expect("few");
        let m = small(groups[0][0].rows());
        Self::new(m, small(groups[0].len()), 1, examples(groups.iter().flatten(), m))
    }

    /// One group, `replicas[d][a]`; on one process, the replicas' microbatches stand one after another.
    pub(crate) fn of_replicas(replicas: &[Vec<PaddedBatch>], one_process: bool) -> Self {
        let small = |n: usize| u32::try_from(n).expect("few");
        let (m, a, d) = (
            small(replicas[0][0].rows()),
            small(replicas[0].len()),
            small(replicas.len()),
        );
        let (a, d) = if one_process { (a * d, 1) } else { (a, d) };
        Self::new(m, a, d, examples(replicas.iter().flatten(), m))
    }
}

/// The rows of microbatches without their padding, numbered as they stand.
fn examples<'a>(batches: impl Iterator<Item = &'a PaddedBatch>, m: u32) -> Vec<Example> {
    let mut examples = Vec::new();
    for batch in batches {
        assert_eq!(batch.rows(), m as usize, "a microbatch that is not full");
        for (tokens, labels) in batch.tokens.chunks(batch.width).zip(batch.labels.chunks(batch.width)) {
            let length = tokens
                .iter()
                .rposition(|&token| token != PAD_ID)
                .map_or(0, |last| last + 1);
            examples.push(Example {
                id: ExampleId(u32::try_from(examples.len()).expect("few")),
                tokens: tokens[..length].to_vec(),
                labels: labels[..length].to_vec(),
            });
        }
    }
    examples
}

/// A lane and what a setup says of it.
#[derive(Clone)]
pub(crate) struct Loop {
    pub(crate) rule: LaneRule,
    /// Where no fault names what is meant.
    pub(crate) recipe: Option<Recipe>,
    pub(crate) optimizer: Optimizer,
    pub(crate) schedule: Schedule,
    pub(crate) clip_norm: Option<f64>,
    pub(crate) loss_scale: Option<ScalerConfig>,
    pub(crate) inject_inf: Vec<Injection>,
}

impl Loop {
    /// SGD at a constant rate.
    pub(crate) fn new(convention: ConventionId, faults: &[FaultId], rate: f64) -> Self {
        let faults = faults.iter().try_fold(Faults::NONE, |faults, &id| faults.and(id));
        Self {
            rule: LaneRule {
                convention,
                faults: faults.expect("faults in different places"),
            },
            recipe: None,
            optimizer: Optimizer::Sgd { momentum: 0.0 },
            schedule: Schedule {
                shape: ScheduleShape::Constant,
                peak: rate,
                warmup: 0,
                total: 1,
                start: WarmupStart::default(),
            },
            clip_norm: None,
            loss_scale: None,
            inject_inf: Vec::new(),
        }
    }

    fn setup(&self, data: &Data) -> Setup {
        Setup {
            split: data.split,
            sharding: Sharding::Blocks,
            sampler_padding: false,
            last_group: data.last_group,
            shuffle: false,
            optimizer: self.optimizer,
            schedule: self.schedule,
            clip_norm: self.clip_norm,
            loss_scale: self.loss_scale,
            inject_inf: self.inject_inf.clone(),
            lanes: vec![self.rule],
            budget: Budget {
                unit: Unit::UpdateAttempts,
                amount: u64::MAX,
            },
            ..parse(&Draft::default()).expect("the default")
        }
    }
}

/// One group as it ended.
pub(crate) struct Ended {
    pub(crate) group: GroupRow,
    /// What each replica's optimizer was given.
    pub(crate) gradients: Vec<Vec<f64>>,
    /// Each replica's parameters.
    pub(crate) parameters: Vec<Vec<f64>>,
}

impl Ended {
    pub(crate) fn row(&self) -> &LaneRow {
        &self.group.lanes[0]
    }
}

/// The first `groups` groups of a run, over as many epochs as they take.
pub(crate) async fn run(
    device: &Device,
    network: &golden::Network,
    data: &Data,
    how: &Loop,
    groups: usize,
) -> Vec<Ended> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the goldens' float32 is their float64, rounded"
    )]
    let start: Vec<f32> = network.parameters.iter().map(|&x| x as f32).collect();
    let setup = how.setup(data);
    let model = Network::TokenMlp(network.shape);
    let mut session = Session::with_network(device, &setup, data.examples.clone(), model, start).expect("a session");
    if let Some(recipe) = how.recipe {
        session.set_recipe(0, recipe);
    }
    session.keep_gradients();
    let mut ended = Vec::new();
    while ended.len() < groups {
        if let Advance::Updated(group) = session.advance(false).await.expect("the device works") {
            let replicas = session.replicas(0).await.expect("read");
            let wide = |values: &[f32]| values.iter().copied().map(f64::from).collect();
            ended.push(Ended {
                group: *group,
                gradients: replicas.iter().map(|replica| wide(&replica.stepped)).collect(),
                parameters: replicas.iter().map(|replica| wide(&replica.parameters)).collect(),
            });
        }
    }
    ended
}

/// Relative L2 of a whole gradient or parameter set; zero agrees with zero alone.
pub(crate) fn assert_set(ours: &[f64], golden: &[f64], tolerance: f64, what: &str) {
    assert_eq!(ours.len(), golden.len(), "{what}");
    if norm(golden) == 0.0 {
        assert!(norm(ours) == 0.0, "{what}: not zero");
        return;
    }
    let error = relative_l2(ours, golden);
    assert!(error <= tolerance, "{what}: relative L2 {error:e}");
}

/// A number, relative to the golden one or to 1, whichever is larger.
pub(crate) fn assert_number(ours: f64, golden: f64, tolerance: f64, what: &str) {
    let close = match golden {
        golden if golden.is_nan() => ours.is_nan(),
        golden if golden.is_infinite() => ours == golden,
        golden => (ours - golden).abs() <= tolerance * golden.abs().max(1.0),
    };
    assert!(close, "{what}: {ours} against {golden}");
}
