//! The first parameters, from the Setup's seed. Plain f64 until the last rounding, so that every device starts from the same numbers.

use rand::{Rng, RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;

use super::{microbatch::to_f32, model::Network};
use crate::{
    batch::PAD_ID,
    data::{DataError, Vocabulary},
    setup::Start,
};

/// Keeps these draws apart from those that make and shuffle data from the same seed.
const STREAM: u64 = 0x1417;

/// Flat first parameters of `network`.
///
/// The token MLP starts as torch's layers do: embedding N(0, 1), Linear uniform within 1 / sqrt(inputs), biases likewise, BatchNorm
/// weight 1 and bias 0. The transformer starts N(0, 0.02) with biases 0 and gains 1.
pub fn parameters(network: &Network, start: &Start, vocabulary: &Vocabulary, seed: u32) -> Result<Vec<f32>, DataError> {
    let mut rng = Pcg64::seed_from_u64(STREAM << 32 | u64::from(seed));
    let mut values = match network {
        Network::TokenMlp(shape) => {
            let (embed, hidden) = (shape.embed as f64, shape.hidden as f64);
            let mut all = normal(&mut rng, shape.vocab * shape.embed, 1.0);
            all.extend(uniform(&mut rng, shape.hidden * (shape.embed + 1), 1.0 / embed.sqrt()));
            if shape.batch_norm {
                all.extend(std::iter::repeat_n(1.0, shape.hidden));
                all.extend(std::iter::repeat_n(0.0, shape.hidden));
            }
            all.extend(uniform(&mut rng, shape.vocab * (shape.hidden + 1), 1.0 / hidden.sqrt()));
            all
        }
        Network::Transformer(shape) => transformer(&mut rng, &shape.tensors(), shape.layers),
        Network::Line(shape) => uniform(&mut rng, shape.outputs, 1.0),
    };
    if let (Network::TokenMlp(shape), Start::KnownLosses(known)) = (network, start) {
        let biases = known_losses(known, vocabulary, shape.vocab)?;
        let first = values.len() - shape.vocab * (shape.hidden + 1);
        values.truncate(first);
        values.extend(std::iter::repeat_n(0.0, shape.vocab * shape.hidden));
        values.extend(biases);
    }
    Ok(values.into_iter().map(to_f32).collect())
}

fn normal(rng: &mut impl Rng, count: usize, deviation: f64) -> Vec<f64> {
    let draw = |_| {
        let z: f64 = StandardNormal.sample(rng);
        z * deviation
    };
    (0..count).map(draw).collect()
}

fn uniform(rng: &mut impl Rng, count: usize, bound: f64) -> Vec<f64> {
    (0..count).map(|_| (rng.random::<f64>() * 2.0 - 1.0) * bound).collect()
}

/// Matrices are drawn; of the vectors, the gains are 1 and the biases 0. Both norms of a block, and the last one, are gain then bias.
fn transformer(rng: &mut impl Rng, tensors: &[(usize, usize)], layers: usize) -> Vec<f64> {
    let mut all = Vec::new();
    for (i, &(rows, columns)) in tensors.iter().enumerate() {
        // Two embeddings come first, then twelve tensors a block, then the last norm and the head.
        let place = match i.checked_sub(2) {
            Some(inner) if inner < 12 * layers => inner % 12,
            Some(inner) => inner - 12 * layers,
            None => 2,
        };
        match place {
            0 | 6 => all.extend(std::iter::repeat_n(1.0, columns)),
            1 | 3 | 5 | 7 | 9 | 11 => all.extend(std::iter::repeat_n(0.0, columns)),
            _ => all.extend(normal(rng, rows * columns, 0.02)),
        }
    }
    all
}

/// Output biases `ln p`, so that with output weights 0 each named letter has loss `-ln p`; all other tokens share what is left.
fn known_losses(known: &[(char, f64)], vocabulary: &Vocabulary, vocab: usize) -> Result<Vec<f64>, DataError> {
    let mut probabilities: Vec<Option<f64>> = vec![None; vocab];
    for &(letter, loss) in known {
        let place = vocabulary.characters.iter().position(|&c| c == letter);
        let id = place.map(|i| i + 1).filter(|&id| id < vocab && id != PAD_ID as usize);
        let slot = id
            .and_then(|id| probabilities.get_mut(id))
            .ok_or(DataError::StartLetterUnknown { letter })?;
        *slot = Some((-loss).exp());
    }
    let named: f64 = probabilities.iter().flatten().sum();
    let others = probabilities.iter().filter(|p| p.is_none()).count().max(1) as f64;
    Ok(probabilities
        .into_iter()
        .map(|p| p.unwrap_or((1.0 - named) / others).ln())
        .collect())
}
