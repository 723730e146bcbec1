//! What a right loop under a lane's convention gives its optimizer, in plain f64.

use crate::{
    batch::{
        Convention, GroupPlan, MicrobatchFacts, PaddedBatch,
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

/// Reduced and clipped, in the first epoch of a run; `None` in half precision, where f32 and f64 may round to different neighbours, and
/// where a microbatch has no variance.
pub(super) fn gradient(
    setup: &Setup,
    network: &Network,
    convention: &Convention,
    plan: &GroupPlan,
    batches: &[PaddedBatch],
    parameters: &[f64],
) -> Option<Vec<f64>> {
    if setup.precision != Precision::F32 {
        return None;
    }
    let mut draws = Draws {
        setup,
        network,
        streams: (0..plan.replicas)
            .map(|replica| MaskStream::new(setup.seed, replica))
            .collect(),
    };
    let contributions: Option<Vec<Contribution>> = plan
        .microbatches
        .iter()
        .zip(batches)
        .map(|(k, batch)| {
            let masks = draws.masks(&k.facts, batch);
            contribution(network, convention, batch, parameters, &masks)
        })
        .collect();
    let mut reduced = combine(convention, &plan.facts(), &contributions?);
    if let Some(max) = setup.clip_norm {
        let clip = coefficient(norm(&reduced), max);
        for g in &mut reduced {
            *g *= clip;
        }
    }
    Some(reduced)
}

/// Dropout's masks, drawn as a run draws them from its start.
struct Draws<'a> {
    setup: &'a Setup,
    network: &'a Network,
    streams: Vec<MaskStream>,
}

impl Draws<'_> {
    /// One list for each place of the network; none without dropout.
    fn masks(&mut self, k: &MicrobatchFacts, batch: &PaddedBatch) -> Vec<Vec<f64>> {
        let Some(dropout) = self.setup.dropout else {
            return Vec::new();
        };
        let positions = batch.tokens.len();
        let stream = usize::try_from(k.replica).ok().and_then(|i| self.streams.get_mut(i));
        let mut stream = stream.filter(|_| dropout.order == DropoutOrder::Stream);
        let places = (0..).zip(self.network.dropout_widths());
        let of_place = |(place, width)| match &mut stream {
            Some(stream) => stream.mask(dropout.rate, positions, width),
            None => by_example(self.setup.seed, dropout.rate, batch, 0, place, width),
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
