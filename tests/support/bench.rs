//! One forward and backward on a device, and the same in plain f64: with dropout, BatchNorm and half precision as a Setup has them.

use burn::tensor::{Tensor, TensorData};
use microbatch_lab::{
    batch::{
        ExampleId, IGNORE_INDEX, PaddedBatch, TokenWeights,
        oracle::{
            self, BatchNorm, Momentum, Scored, batch_norm::BATCH_NORM_EPS, mlp_pass, relative_l2, transformer_pass,
        },
    },
    data::Corpus,
    engine::{
        Device, gradient::Forward, init, microbatch::Microbatch, model::Network, numerics::Numerics, readback::read,
    },
    setup::{Key, Setup},
};

use super::short_run;

/// float32 against float64, as the relative L2 error of a whole gradient.
pub(crate) const ENGINE: f64 = 1e-6;

pub(crate) struct Bench {
    device: Device,
    pub(crate) setup: Setup,
    pub(crate) corpus: Corpus,
    pub(crate) network: Network,
    pub(crate) start: Vec<f32>,
}

impl Bench {
    /// The default setup, made small, with changes.
    pub(crate) fn new(device: &Device, changes: &[(Key, &str)]) -> Self {
        let setup = short_run::setup(changes);
        let corpus = short_run::corpus(&setup);
        let network = Network::of(&setup, corpus.vocabulary.size());
        let start = init::parameters(&network, &setup.start, &corpus.vocabulary, setup.seed).expect("a start");
        Self {
            device: device.clone(),
            setup,
            corpus,
            network,
            start,
        }
    }

    pub(crate) fn batch(&self, ids: impl IntoIterator<Item = u32>) -> PaddedBatch {
        let ids: Vec<ExampleId> = ids.into_iter().map(ExampleId).collect();
        PaddedBatch::of(&self.corpus.examples, &ids)
    }

    pub(crate) fn numerics(&self, replicas: u32) -> Numerics {
        Numerics::new(&self.setup, &self.network, replicas, &self.device)
    }

    /// The gradient of `factor` times the loss sum, by the engine. The factor enters before the backward.
    pub(crate) async fn gradient(
        &self,
        numerics: &mut Numerics,
        replica: u32,
        batch: &PaddedBatch,
        factor: f64,
    ) -> Vec<f64> {
        let microbatch = Microbatch::new(&self.device, batch.clone());
        let mut mode = numerics.mode(&self.network, replica, &microbatch);
        let start = TensorData::new(self.start.clone(), [self.start.len()]);
        let (parameters, weights) = (Tensor::from_data(start, &self.device), TokenWeights::Uniform);
        let forward = Forward::new(&self.network, &parameters, &microbatch, weights, &mut mode);
        numerics.saw(replica, &mut mode);
        let gradient = Forward::backward_together(vec![(forward, factor)]).expect("a forward");
        let gradient = read(&gradient).await.expect("read");
        gradient.into_iter().map(f64::from).collect()
    }

    /// The forward of a microbatch of which nothing is scored; see [`Numerics::pass_by`].
    pub(crate) fn pass_by(&self, numerics: &mut Numerics, replica: u32, batch: &PaddedBatch) {
        let start = TensorData::new(self.start.clone(), [self.start.len()]);
        let microbatch = Microbatch::new(&self.device, batch.clone());
        numerics.pass_by(
            &self.network,
            &Tensor::from_data(start, &self.device),
            replica,
            &microbatch,
        );
    }

    /// The same by the oracle.
    pub(crate) fn oracle(&self, numerics: oracle::Numerics, batch: &PaddedBatch, factor: f64) -> Vec<f64> {
        let mut norm = BatchNorm::new(
            self.network.norm_features().unwrap_or(0),
            BATCH_NORM_EPS,
            Momentum::Cumulative,
        );
        self.oracle_with(numerics, batch, factor, &mut norm)
    }

    /// The same, moving the running statistics of `norm`.
    pub(crate) fn oracle_with(
        &self,
        numerics: oracle::Numerics,
        batch: &PaddedBatch,
        factor: f64,
        norm: &mut BatchNorm,
    ) -> Vec<f64> {
        let weight = |&label: &i32| if label == IGNORE_INDEX { 0.0 } else { factor };
        let weights: Vec<f64> = batch.labels.iter().map(weight).collect();
        let parameters: Vec<f64> = self.start.iter().copied().map(f64::from).collect();
        let scored = Scored {
            tokens: &batch.tokens,
            labels: &batch.labels,
            weights: &weights,
        };
        match self.network {
            Network::TokenMlp(shape) => {
                mlp_pass(shape, &parameters, scored, numerics, norm)
                    .expect("positions enough")
                    .1
            }
            Network::Transformer(shape) => transformer_pass(shape, &parameters, batch.width, scored, numerics).1,
            Network::Line(_) => panic!("no setup asks for it"),
        }
    }
}

#[track_caller]
pub(crate) fn assert_near(what: &str, ours: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(ours.len(), expected.len(), "{what}");
    let error = relative_l2(ours, expected);
    assert!(error <= tolerance, "{what}: relative L2 {error:e}");
}
