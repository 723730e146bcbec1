//! What a lane's forwards do beside the network's arithmetic: precision, dropout's masks, BatchNorm's running statistics.

use burn::tensor::{Tensor, TensorData};

use super::{
    Device,
    gradient::look,
    microbatch::{Microbatch, to_f32},
    model::{Mode, Network},
    program::Workspace,
    readback::{Readback, Slot, Values},
    running::Running,
};
use crate::{
    batch::{
        GroupPlan,
        dropout::{MaskStream, by_example},
    },
    protocol::{BatchNormRow, Fault},
    setup::{Dropout, DropoutOrder, Precision, Setup},
};

/// One lane's. The default computes in f32, drops nothing and has no BatchNorm. A forward that is no part of the run, such as a probe's, works
/// on a clone: it draws the masks that are due and leaves them due.
#[derive(Clone, Default)]
pub struct Numerics {
    precision: Precision,
    dropout: Option<Masks>,
    /// By replica; empty without BatchNorm.
    running: Vec<Running>,
    epoch: u32,
    /// Running statistics as they were read last.
    read: Option<BatchNormRow>,
    workspace: Workspace,
}

/// Where masks come from.
#[derive(Clone)]
struct Masks {
    rule: Dropout,
    seed: u32,
    /// By replica; drawn from only in the order of work.
    streams: Vec<MaskStream>,
}

impl Numerics {
    /// At the start of a run. Lanes that work alike draw alike, so that what parts them is not chance.
    pub fn new(setup: &Setup, network: &Network, replicas: u32, device: &Device) -> Self {
        let features = network.norm_features();
        let running = setup
            .batch_norm
            .zip(features)
            .map_or_else(Vec::new, |(momentum, features)| {
                (0..replicas)
                    .map(|_| Running::new(momentum, features, device))
                    .collect()
            });
        let masks = |rule| Masks {
            rule,
            seed: setup.seed,
            streams: (0..replicas)
                .map(|replica| MaskStream::new(setup.seed, replica))
                .collect(),
        };
        Self {
            precision: setup.precision,
            dropout: setup.dropout.map(masks),
            read: running.first().map(|_| BatchNormRow {
                batches: 0,
                running_mean: vec![0.0; features.unwrap_or(0)],
                running_var: vec![1.0; features.unwrap_or(0)],
            }),
            running,
            epoch: 0,
            workspace: Workspace::default(),
        }
    }

    /// The epoch that the next microbatches belong to, by which masks of [`DropoutOrder::ByExample`] are drawn.
    pub fn enter_epoch(&mut self, epoch: u32) {
        self.epoch = epoch;
    }

    /// What the forward of `microbatch` on `replica` needs. Call it once a forward, in the order of work: streams of masks go on.
    pub fn mode(&mut self, network: &Network, replica: u32, microbatch: &Microbatch) -> Mode {
        let epoch = self.epoch;
        let masks = self.dropout.as_mut().map_or_else(Vec::new, |masks| {
            let places = (0..).zip(network.dropout_widths());
            places
                .map(|(place, width)| masks.upload(replica, microbatch, epoch, place, width))
                .collect()
        });
        Mode::new(self.precision, masks, self.workspace.clone())
    }

    /// Whether lanes of `setup` do nothing beside the network's arithmetic, in f32.
    pub fn are_plain(setup: &Setup) -> bool {
        setup.precision == Precision::F32 && setup.dropout.is_none() && setup.batch_norm.is_none()
    }

    /// The same of this lane.
    pub fn is_plain(&self) -> bool {
        self.precision == Precision::F32 && self.dropout.is_none() && self.running.is_empty()
    }

    /// The same with working memory of its own, for work beside the run, whose own stays as it was.
    #[must_use]
    pub fn apart(&self) -> Self {
        Self {
            workspace: self.workspace.apart(),
            ..self.clone()
        }
    }

    /// A group's last backward is done; see [`Workspace::rest`].
    pub fn rest(&self) {
        self.workspace.rest();
    }

    /// Moves the running statistics of `replica` by what its forward saw. A skipped update does not take this back, as in torch, where it
    /// is the forward that moves them.
    pub fn saw(&mut self, replica: u32, mode: &mut Mode) {
        let running = usize::try_from(replica).ok().and_then(|i| self.running.get_mut(i));
        if let Some((running, statistics)) = running.zip(mode.take_statistics()) {
            running.follow(&statistics);
        }
    }

    /// What a loop's forward of a microbatch without any supervised token still does: it draws masks, and it moves running statistics.
    /// Nothing else of it is computed.
    pub fn pass_by(&mut self, network: &Network, parameters: &Tensor<1>, replica: u32, microbatch: &Microbatch) {
        let mut mode = self.mode(network, replica, microbatch);
        if !self.running.is_empty() {
            look(network, parameters, microbatch, &mut mode);
            self.saw(replica, &mut mode);
        }
    }

    /// Asks for replica 0's running statistics; `None` without BatchNorm.
    pub fn ask(&self, readback: &mut Readback) -> Option<[Slot; 2]> {
        self.running
            .first()
            .map(|running| [readback.add(running.mean()), readback.add(running.variance())])
    }

    /// Takes what was asked for; [`Self::row`] has it from then on.
    pub fn answer(&mut self, values: &Values, slots: Option<[Slot; 2]>) {
        let Some(([mean, variance], running)) = slots.zip(self.running.first()) else {
            return;
        };
        let wide = |slot| values.of(slot).iter().copied().map(f64::from).collect();
        self.read = Some(BatchNormRow {
            batches: running.batches(),
            running_mean: wide(mean),
            running_var: wide(variance),
        });
    }

    /// Replica 0's running statistics as they were read last; `None` without BatchNorm.
    pub fn row(&self) -> Option<BatchNormRow> {
        self.read.clone()
    }

    /// Refuses a group with a microbatch that has no variance, before anything of it is computed.
    pub fn refuse(&self, plan: &GroupPlan) -> Result<(), Fault> {
        let single = plan.microbatches.iter().any(|k| k.facts.unpadded < 2);
        if !self.running.is_empty() && single {
            Err(Fault::BatchNormNeedsTwo)
        } else {
            Ok(())
        }
    }
}

impl Masks {
    fn upload(&mut self, replica: u32, microbatch: &Microbatch, epoch: u32, place: u32, width: usize) -> Tensor<2> {
        let (batch, rate) = (microbatch.host(), self.rule.rate);
        let positions = batch.tokens.len();
        let stream = usize::try_from(replica).ok().and_then(|i| self.streams.get_mut(i));
        let mask = match (self.rule.order, stream) {
            (DropoutOrder::Stream, Some(stream)) => stream.mask(rate, positions, width),
            // A replica beyond the last has no stream; the engine knows none.
            _ => by_example(self.seed, rate, batch, epoch, place, width),
        };
        let mask: Vec<f32> = mask.into_iter().map(to_f32).collect();
        Tensor::from_data(TensorData::new(mask, [positions, width]), microbatch.device())
    }
}
