//! What a right loop under a lane's convention gives its optimizer, in plain f64.

use crate::{
    batch::{
        Convention, Example, GroupPlan, MicrobatchFacts, PaddedBatch,
        clip::coefficient,
        dropout::{MaskStream, by_example},
        oracle::{
            BatchNorm, Contribution, Momentum, Numerics, Scored, batch_norm::BATCH_NORM_EPS, combine, mlp_pass, norm,
            token_weights, transformer_pass,
        },
    },
    engine::model::Network,
    setup::{DropoutOrder, Precision, Setup},
};

/// What one group must come to.
pub(super) struct Expected {
    /// Reduced and clipped.
    pub(super) gradient: Vec<f64>,
    /// S of each microbatch, weighted as the convention says.
    pub(super) loss_sums: Vec<f64>,
}

/// One lane's groups, one after another from the start of a run: dropout's streams go on.
pub(super) struct Oracle<'a> {
    setup: &'a Setup,
    network: &'a Network,
    convention: &'a Convention,
    streams: Vec<MaskStream>,
}

impl<'a> Oracle<'a> {
    pub(super) fn new(setup: &'a Setup, network: &'a Network, convention: &'a Convention, replicas: u32) -> Self {
        let stream = |replica| MaskStream::new(setup.seed, replica);
        Self {
            setup,
            network,
            convention,
            streams: (0..replicas).map(stream).collect(),
        }
    }

    /// The next group at `parameters`; `None` in half precision, where f32 and f64 may round to different neighbours, and where a
    /// microbatch has no variance.
    pub(super) fn group(&mut self, plan: &GroupPlan, examples: &[Example], parameters: &[f64]) -> Option<Expected> {
        if self.setup.precision != Precision::F32 {
            return None;
        }
        let contributions: Option<Vec<Contribution>> = plan
            .microbatches
            .iter()
            .map(|k| {
                let batch = PaddedBatch::of(examples, &k.ids);
                let masks = self.masks(&k.facts, &batch, plan.epoch);
                contribution(self.network, self.convention, &batch, parameters, &masks)
            })
            .collect();
        let contributions = contributions?;
        let mut gradient = combine(self.convention, &plan.facts(), &contributions);
        if let Some(max) = self.setup.clip_norm {
            let clip = coefficient(norm(&gradient), max);
            for g in &mut gradient {
                *g *= clip;
            }
        }
        Some(Expected {
            gradient,
            loss_sums: contributions.iter().map(|c| c.loss_sum).collect(),
        })
    }

    /// Dropout's masks, drawn as a run draws them: one list for each place of the network; none without dropout.
    fn masks(&mut self, k: &MicrobatchFacts, batch: &PaddedBatch, epoch: u32) -> Vec<Vec<f64>> {
        let Some(dropout) = self.setup.dropout else {
            return Vec::new();
        };
        let positions = batch.tokens.len();
        let stream = usize::try_from(k.replica).ok().and_then(|i| self.streams.get_mut(i));
        let mut stream = stream.filter(|_| dropout.order == DropoutOrder::Stream);
        let places = (0..).zip(self.network.dropout_widths());
        let of_place = |(place, width)| match &mut stream {
            Some(stream) => stream.mask(dropout.rate, positions, width),
            None => by_example(self.setup.seed, dropout.rate, batch, epoch, place, width),
        };
        places.map(of_place).collect()
    }
}

fn contribution(
    network: &Network,
    convention: &Convention,
    batch: &PaddedBatch,
    parameters: &[f64],
    masks: &[Vec<f64>],
) -> Option<Contribution> {
    let weights = token_weights(convention.token_weights, batch);
    let scored = Scored {
        tokens: &batch.tokens,
        labels: &batch.labels,
        weights: &weights,
    };
    let numerics = Numerics { half: false, masks };
    let (losses, gradient) = match network {
        Network::TokenMlp(shape) => {
            // Running statistics have no part in training; these are thrown away.
            let mut norm = BatchNorm::new(shape.hidden, BATCH_NORM_EPS, Momentum::Cumulative);
            mlp_pass(*shape, parameters, scored, numerics, &mut norm).ok()?
        }
        Network::Transformer(shape) => transformer_pass(*shape, parameters, batch.width, scored, numerics),
        // No setup asks for it.
        Network::Line(_) => return None,
    };
    Some(Contribution {
        loss_sum: losses.sum,
        gradient,
    })
}
