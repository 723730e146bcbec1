//! From a draft to a Setup, or to every problem in it.

use super::{
    Draft, FieldError, Key, Setup,
    kinds::{BudgetUnit, DataKind, LengthsKind, LossScaleKind, ModelKind, OptimizerKind, ScheduleUnit, YesNo},
    limits, lists,
    matters::matters,
    named::Named,
    number,
    problem::Problem,
    types::{Budget, Data, Dropout, Lengths, Model, Optimizer, Start},
};
use crate::batch::{
    LaneRule, Pass, Schedule, ScheduleShape, Split, Unit, fault::Needs, oracle::batch_norm::Momentum,
    scaler::ScalerConfig, schedule::WarmupStart,
};

/// Judges all fields that matter for the chosen variants; gives every problem at once, in the table's order.
///
/// ```
/// use microbatch_lab::setup::{Draft, Key, parse::parse};
/// let draft = Draft::default().with(Key::Microbatch, "0").with(Key::Replicas, "two");
/// let problems = parse(&draft).unwrap_err();
/// assert_eq!(problems.iter().map(|p| p.key).collect::<Vec<_>>(), [Key::Microbatch, Key::Replicas]);
/// ```
pub fn parse(draft: &Draft) -> Result<Setup, Vec<FieldError>> {
    let mut reader = Reader {
        draft,
        errors: Vec::new(),
    };
    let setup = reader.setup();
    reader.errors.sort_by_key(|error| error.key);
    match setup {
        Some(setup) if reader.errors.is_empty() => Ok(setup),
        _ => Err(reader.errors),
    }
}

struct Reader<'a> {
    draft: &'a Draft,
    errors: Vec<FieldError>,
}

#[expect(
    clippy::option_option,
    reason = "unreadable, read as none, and read as some are three"
)]
impl Reader<'_> {
    /// Every part is read before any is asked for, so that each problem is found.
    fn setup(&mut self) -> Option<Setup> {
        let split = self.split();
        let sharding = self.choice(Key::Sharding);
        let sampler_padding = self.choice::<YesNo>(Key::SamplerPadding);
        let last_group = self.choice(Key::LastGroup);
        let shuffle = self.choice::<YesNo>(Key::Shuffle);
        let data = self.data();
        let model = self.model();
        let lengths = self.lengths(model.as_ref());
        let start = self.start(self.kind(Key::Model));
        let optimizer = self.optimizer();
        let schedule = self.schedule();
        let schedule_unit = self.schedule_unit();
        let clip_norm = self.decimal(Key::ClipNorm, 0.0, limits::MAX_CLIP_NORM);
        let precision = self.choice(Key::Precision);
        let loss_scale = self.loss_scale();
        let inject_inf = self.judge(Key::InjectInf, |text| lists::injections(text, split));
        let dropout = self.dropout();
        let batch_norm = self.batch_norm();
        let lanes = self.judge(Key::Lanes, lists::lanes);
        self.needs(lanes.as_deref().unwrap_or_default(), clip_norm, loss_scale);
        let tolerance = self.decimal(Key::Tolerance, limits::MIN_TOLERANCE, limits::MAX_TOLERANCE);
        let memory = self.whole(Key::MemoryLimit, limits::MIN_MEMORY_MIB, limits::MAX_MEMORY_MIB);
        let seed = self.whole(Key::Seed, 0, u32::MAX);
        let unit = self.choice::<BudgetUnit>(Key::BudgetUnit);
        let amount = self.judge(Key::Budget, |text| number::whole(text, 1, limits::MAX_BUDGET));
        if let (Some(split), Some(lengths)) = (split, &lengths) {
            self.positions(split, lengths, lanes.as_deref().unwrap_or_default());
        }
        Some(Setup {
            split: split?,
            sharding: sharding?,
            sampler_padding: sampler_padding? == YesNo::Yes,
            last_group: last_group?,
            shuffle: shuffle? == YesNo::Yes,
            data: data?,
            lengths: lengths?,
            model: model?,
            start: start?,
            optimizer: optimizer?,
            schedule: schedule?,
            schedule_unit: schedule_unit?,
            clip_norm: clip_norm.map(|norm| (norm > 0.0).then_some(norm))?,
            precision: precision?,
            loss_scale: loss_scale?,
            inject_inf: inject_inf?,
            dropout: dropout?,
            batch_norm: batch_norm?,
            lanes: lanes?,
            tolerance: tolerance?,
            memory_limit: u64::from(memory?) << 20,
            seed: seed?,
            budget: Budget {
                unit: unit?.0,
                amount: amount?,
            },
        })
    }

    fn split(&mut self) -> Option<Split> {
        let keys = [Key::Microbatch, Key::Accumulation, Key::Replicas];
        let counts = keys.map(|key| self.whole(key, 1, limits::MAX_COUNT));
        let [m, a, d] = counts;
        let split = Split::new(m?, a?, d?)?;
        let (product, max) = (split.effective_batch(), limits::MAX_EFFECTIVE_BATCH);
        if product > max {
            // The message stands at the largest of the three, the first of them where they are equal.
            let largest = keys.into_iter().zip(counts).rev().max_by_key(|(_, count)| *count);
            self.refuse(largest?.0, Problem::ProductTooLarge { product, max });
            return None;
        }
        Some(split)
    }

    fn data(&mut self) -> Option<Data> {
        match self.choice(Key::Data)? {
            DataKind::Task(task) => {
                let examples = self.whole(Key::Examples, 1, limits::MAX_EXAMPLES)?;
                Some(Data::Task { task, examples })
            }
            DataKind::Own(format) => Some(Data::Own {
                format,
                name: self.draft.get(Key::FileName).trim().to_owned(),
            }),
        }
    }

    fn model(&mut self) -> Option<Model> {
        match self.choice(Key::Model)? {
            ModelKind::TokenMlp => {
                let embed = self.whole(Key::Embed, 1, limits::MAX_WIDTH);
                let hidden = self.whole(Key::Hidden, 1, limits::MAX_WIDTH);
                Some(Model::TokenMlp {
                    embed: embed?,
                    hidden: hidden?,
                })
            }
            ModelKind::Transformer => {
                let width = self.whole(Key::Width, 1, limits::MAX_WIDTH);
                let layers = self.whole(Key::Layers, 1, limits::MAX_LAYERS);
                let heads = self.whole(Key::Heads, 1, limits::MAX_WIDTH);
                let context = self.whole(Key::Context, 1, limits::MAX_CONTEXT);
                let (width, heads) = (width?, heads?);
                if width % heads != 0 {
                    self.refuse(Key::Heads, Problem::DoesNotDivide { width });
                }
                Some(Model::Transformer {
                    width,
                    layers: layers?,
                    heads,
                    context: context?,
                })
            }
        }
    }

    /// Where the model itself is unreadable, lengths are judged by the lab's own limit.
    fn lengths(&mut self, model: Option<&Model>) -> Option<Lengths> {
        let longest = model.map_or(limits::MAX_LENGTH, longest);
        match self.choice(Key::Lengths)? {
            LengthsKind::AsInData => Some(Lengths::AsInData),
            LengthsKind::List => self
                .judge(Key::LengthList, |text| lists::lengths(text, longest))
                .map(Lengths::List),
            LengthsKind::Uniform => {
                let (min, max) = self.ordered(Key::LengthMin, Key::LengthMax, longest)?;
                Some(Lengths::Uniform { min, max })
            }
            LengthsKind::LogNormal => {
                let median = self.whole(Key::LengthMedian, 1, longest);
                let sigma = self.decimal(Key::LengthSigma, 0.0, limits::MAX_SIGMA);
                Some(Lengths::LogNormal {
                    median: median?,
                    sigma: sigma?,
                })
            }
            LengthsKind::TwoHumped => {
                let centres = self.ordered(Key::LengthShort, Key::LengthLong, longest);
                let long_share = self.decimal(Key::LengthLongShare, 0.0, 1.0);
                let (short, long) = centres?;
                Some(Lengths::TwoHumped {
                    short,
                    long,
                    long_share: long_share?,
                })
            }
        }
    }

    fn ordered(&mut self, first: Key, second: Key, longest: u32) -> Option<(u32, u32)> {
        let low = self.whole(first, 1, longest);
        let high = self.whole(second, 1, longest);
        let (low, high) = (low?, high?);
        if low > high {
            self.refuse(first, Problem::WrongOrder);
            return None;
        }
        Some((low, high))
    }

    fn start(&mut self, model: Option<ModelKind>) -> Option<Start> {
        if self.draft.get(Key::Start).trim() == "random" {
            return Some(Start::Random);
        }
        if model == Some(ModelKind::Transformer) {
            self.refuse(Key::Start, Problem::StartNeedsMlp);
            return None;
        }
        self.judge(Key::Start, lists::known_losses).map(Start::KnownLosses)
    }

    fn optimizer(&mut self) -> Option<Optimizer> {
        match self.choice(Key::Optimizer)? {
            OptimizerKind::Sgd => Some(Optimizer::Sgd {
                momentum: self.decimal(Key::Momentum, 0.0, limits::MAX_DECAY)?,
            }),
            OptimizerKind::AdamW => {
                let beta1 = self.decimal(Key::Beta1, 0.0, limits::MAX_DECAY);
                let beta2 = self.decimal(Key::Beta2, 0.0, limits::MAX_DECAY);
                let weight_decay = self.decimal(Key::WeightDecay, 0.0, 1.0);
                Some(Optimizer::AdamW {
                    beta1: beta1?,
                    beta2: beta2?,
                    weight_decay: weight_decay?,
                })
            }
        }
    }

    fn schedule(&mut self) -> Option<Schedule> {
        let peak = self.decimal(Key::Rate, limits::MIN_RATE, limits::MAX_RATE);
        let shape = self.choice(Key::Schedule)?;
        if shape == ScheduleShape::Constant {
            return Some(Schedule {
                shape,
                peak: peak?,
                warmup: 0,
                total: 0,
                start: WarmupStart::default(),
            });
        }
        let most = u32::try_from(limits::MAX_BUDGET).unwrap_or(u32::MAX);
        let warmup = self.whole(Key::Warmup, 0, most);
        let total = self.whole(Key::ScheduleTotal, 1, most);
        let start = self.choice(Key::WarmupStart);
        let (warmup, total) = (warmup?, total?);
        if warmup > total {
            self.refuse(Key::Warmup, Problem::WrongOrder);
        }
        Some(Schedule {
            shape,
            peak: peak?,
            warmup,
            total,
            start: start?,
        })
    }

    fn schedule_unit(&mut self) -> Option<Unit> {
        // A constant rate has no steps; its unit is not judged, nor is that of a schedule that is itself unreadable.
        if !matters(self.draft, Key::ScheduleUnit) {
            return Some(Unit::AppliedUpdates);
        }
        self.choice::<ScheduleUnit>(Key::ScheduleUnit).map(|unit| unit.0)
    }

    fn loss_scale(&mut self) -> Option<Option<ScalerConfig>> {
        if self.choice::<LossScaleKind>(Key::LossScale)? == LossScaleKind::Off {
            return Some(None);
        }
        let init = self.decimal(Key::InitScale, limits::MIN_SCALE, limits::MAX_SCALE);
        let growth = self.decimal(Key::GrowthFactor, 1.0, limits::MAX_SCALE);
        let backoff = self.decimal(Key::BackoffFactor, limits::MIN_SCALE, 1.0);
        let interval = self.whole(Key::GrowthInterval, 1, u32::MAX);
        #[expect(clippy::cast_possible_truncation, reason = "torch holds the scale as an f32")]
        let init_scale = init? as f32;
        Some(Some(ScalerConfig {
            init_scale,
            growth_factor: growth?,
            backoff_factor: backoff?,
            growth_interval: interval?,
        }))
    }

    fn dropout(&mut self) -> Option<Option<Dropout>> {
        let rate = self.decimal(Key::Dropout, 0.0, limits::MAX_DROPOUT)?;
        if rate == 0.0 {
            return Some(None);
        }
        let order = self.choice(Key::DropoutOrder)?;
        Some(Some(Dropout { rate, order }))
    }

    fn batch_norm(&mut self) -> Option<Option<Momentum>> {
        if !matters(self.draft, Key::BatchNorm) || self.choice::<YesNo>(Key::BatchNorm)? == YesNo::No {
            return Some(None);
        }
        self.judge(Key::BatchNormMomentum, lists::momentum).map(Some)
    }

    /// Refuses faults that would show nothing as the rest is set.
    fn needs(&mut self, lanes: &[LaneRule], clip_norm: Option<f64>, loss_scale: Option<Option<ScalerConfig>>) {
        let (no_clip, no_scale) = (clip_norm == Some(0.0), loss_scale == Some(None));
        for lane in lanes {
            for row in lane.faults.rows() {
                let fault = row.id.name();
                if !row.shows_under(lane.convention()) {
                    self.refuse(Key::Lanes, Problem::FaultNeedsPartMean { fault });
                } else if no_clip && matches!(row.needs, Needs::Clip | Needs::ClipAndLossScale) {
                    self.refuse(Key::Lanes, Problem::FaultNeedsClip { fault });
                } else if no_scale && matches!(row.needs, Needs::LossScale | Needs::ClipAndLossScale) {
                    self.refuse(Key::Lanes, Problem::FaultNeedsLossScale { fault });
                }
            }
        }
    }

    /// Refuses batches that the known lengths alone make too large; lengths that are drawn or read are judged with the data.
    fn positions(&mut self, split: Split, lengths: &Lengths, lanes: &[LaneRule]) {
        let (key, longest) = match lengths {
            Lengths::AsInData => return,
            Lengths::List(list) => (Key::LengthList, list.iter().copied().max().unwrap_or(0)),
            Lengths::Uniform { max, .. } => (Key::LengthMax, *max),
            Lengths::LogNormal { median, .. } => (Key::LengthMedian, *median),
            Lengths::TwoHumped { long, .. } => (Key::LengthLong, *long),
        };
        let max = limits::MAX_POSITIONS;
        let positions = u64::from(split.microbatch.get()) * u64::from(longest);
        if positions > max {
            self.refuse(key, Problem::TooManyPositions { positions, max });
        }
        let positions = split.effective_batch() * u64::from(longest);
        if positions > max && lanes.iter().any(|lane| lane.convention().pass == Pass::Whole) {
            self.refuse(Key::Lanes, Problem::FullBatchTooLarge { positions, max });
        }
    }

    fn whole(&mut self, key: Key, min: u32, max: u32) -> Option<u32> {
        let value = self.judge(key, |text| number::whole(text, min.into(), max.into()))?;
        u32::try_from(value).ok()
    }

    fn decimal(&mut self, key: Key, min: f64, max: f64) -> Option<f64> {
        self.judge(key, |text| number::decimal(text, min, max))
    }

    fn choice<T: Named>(&mut self, key: Key) -> Option<T> {
        self.judge(key, |text| {
            T::named(text.trim()).ok_or_else(|| Problem::NotOneOf { allowed: T::names() })
        })
    }

    fn kind<T: Named>(&self, key: Key) -> Option<T> {
        T::named(self.draft.get(key).trim())
    }

    fn judge<T>(&mut self, key: Key, rule: impl FnOnce(&str) -> Result<T, Problem>) -> Option<T> {
        rule(self.draft.get(key))
            .map_err(|problem| self.refuse(key, problem))
            .ok()
    }

    fn refuse(&mut self, key: Key, problem: Problem) {
        self.errors.push(FieldError {
            key,
            given: self.draft.get(key).to_owned(),
            problem,
        });
    }
}

/// The longest example that `model` takes, in positions.
pub fn longest(model: &Model) -> u32 {
    match *model {
        Model::TokenMlp { .. } => limits::MAX_LENGTH,
        Model::Transformer { context, .. } => context,
    }
}
