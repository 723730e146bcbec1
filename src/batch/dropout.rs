//! Dropout's masks: which values of a layer's output are dropped, and what the others are multiplied by.
//!
//! Inverted dropout, as torch.nn.Dropout: a value is 0 with probability `rate`, else divided by `1 - rate`. All randomness comes from the seed.

use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::{ExampleId, PaddedBatch};

/// Keeps these draws apart from those that make data, order it and start parameters from the same seed.
const STREAM: u64 = 0x0d20;

/// One replica's generator, drawn from in the order of work: microbatch after microbatch, place after place of the network, position after
/// position, padding included. Another split draws other masks as soon as it changes padding or replicas, or the network has several places.
#[derive(Clone, Debug)]
pub struct MaskStream(Pcg64);

impl MaskStream {
    /// The generator of `replica` at the start of a run. Lanes that work alike draw alike.
    pub fn new(seed: u32, replica: u32) -> Self {
        Self(generator(&[seed, replica]))
    }

    /// The next `positions * width` multipliers.
    pub fn mask(&mut self, rate: f64, positions: usize, width: usize) -> Vec<f64> {
        draws(&mut self.0, rate, positions * width).collect()
    }
}

/// `rows * batch.width * width` multipliers for one place of the network, each row drawn by a generator of its own: that of the seed, the
/// example, the epoch and the place. No split changes them. Padding is dropped.
pub fn by_example(seed: u32, rate: f64, batch: &PaddedBatch, epoch: u32, place: u32, width: usize) -> Vec<f64> {
    let mut mask = Vec::with_capacity(batch.tokens.len() * width);
    let rows = batch.ids.iter().zip(batch.tokens.chunks(batch.width.max(1)));
    for (ExampleId(id), tokens) in rows {
        let length = tokens
            .iter()
            .filter(|&&token| super::example::holds_token(token))
            .count();
        let mut rng = generator(&[seed, *id, epoch, place]);
        mask.extend(draws(&mut rng, rate, length * width));
        mask.extend(std::iter::repeat_n(0.0, (tokens.len() - length) * width));
    }
    mask
}

fn draws(rng: &mut impl Rng, rate: f64, count: usize) -> impl Iterator<Item = f64> {
    (0..count).map(move |_| multiplier(rng.random(), rate))
}

/// Of a value whose draw, from 0 to below 1, came out as `drawn`.
fn multiplier(drawn: f64, rate: f64) -> f64 {
    if drawn < rate { 0.0 } else { 1.0 / (1.0 - rate) }
}

/// A generator for these numbers. Neighbouring states of a PCG give related streams, so the numbers are mixed well first.
fn generator(key: &[u32]) -> Pcg64 {
    let mixed = key.iter().fold(STREAM, |state, &part| mix(state ^ u64::from(part)));
    Pcg64::seed_from_u64(mixed)
}

/// One step of SplitMix64 (Steele, Lea, Flood 2014): a bijection whose every output bit hangs on every input bit.
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Example;

    fn batch(lengths: &[(u32, u32)]) -> PaddedBatch {
        let examples: Vec<Example> = lengths
            .iter()
            .map(|&(id, length)| Example {
                id: ExampleId(id),
                tokens: (1..=length).collect(),
                labels: vec![1; length as usize],
            })
            .collect();
        PaddedBatch::new(&examples.iter().collect::<Vec<_>>())
    }

    /// Five standard deviations of the binomial distribution: missed once in two million draws of the seed, which is fixed.
    fn assert_rate(mask: &[f64], rate: f64) {
        let count = mask.len() as f64;
        let dropped = mask.iter().filter(|&&kept| kept == 0.0).count() as f64;
        let bound = 5.0 * (count * rate * (1.0 - rate)).sqrt();
        assert!(
            (dropped - count * rate).abs() <= bound,
            "{dropped} of {count} at {rate}"
        );
        assert!(
            mask.iter()
                .all(|&kept| kept == 0.0 || (kept * (1.0 - rate) - 1.0).abs() < 1e-15)
        );
    }

    #[test]
    fn as_many_are_dropped_as_was_asked() {
        for rate in [0.01, 0.1, 0.5, 0.95] {
            assert_rate(&MaskStream::new(7, 0).mask(rate, 1000, 32), rate);
            assert_rate(&by_example(7, rate, &batch(&[(0, 500), (1, 500)]), 0, 0, 32), rate);
        }
    }

    #[test]
    fn a_value_is_dropped_below_the_rate_alone() {
        let of = |drawn| multiplier(drawn, 0.75).to_bits();
        assert_eq!(
            [of(0.0), of(0.5), of(0.75), of(0.9)],
            [0.0f64, 0.0, 4.0, 4.0].map(f64::to_bits)
        );
    }

    /// The first numbers of the published generator from the seed 1234567.
    #[test]
    fn numbers_are_mixed_as_published() {
        assert_eq!(mix(1_234_567), 6_457_827_717_110_365_317);
        assert_eq!(
            mix(1_234_567u64.wrapping_add(0x9e37_79b9_7f4a_7c15)),
            3_203_168_211_198_807_973
        );
    }

    #[test]
    fn a_mask_has_a_multiplier_for_each_value() {
        assert_eq!(MaskStream::new(1, 0).mask(0.5, 5, 7).len(), 35);
        assert_eq!(by_example(1, 0.5, &batch(&[(0, 2), (1, 3)]), 0, 0, 7).len(), 42);
    }

    #[test]
    fn a_stream_goes_on_and_is_the_same_for_the_same_seed() {
        let draw = |seed, replica| {
            let mut stream = MaskStream::new(seed, replica);
            [stream.mask(0.5, 8, 8), stream.mask(0.5, 8, 8)]
        };
        let [first, second] = draw(1, 0);
        assert_ne!(first, second);
        assert_eq!(draw(1, 0), [first.clone(), second]);
        assert_ne!(draw(2, 0)[0], first);
        assert_ne!(draw(1, 1)[0], first);
    }

    #[test]
    fn an_example_keeps_its_mask_whoever_stands_beside_it() {
        let alone = by_example(3, 0.5, &batch(&[(5, 4)]), 2, 1, 3);
        let beside = by_example(3, 0.5, &batch(&[(8, 9), (5, 4)]), 2, 1, 3);
        assert_eq!(alone[..], beside[27..39]);
        assert_eq!(beside[39..], [0.0; 15], "padding is dropped");
        for other in [
            by_example(4, 0.5, &batch(&[(5, 4)]), 2, 1, 3),
            by_example(3, 0.5, &batch(&[(6, 4)]), 2, 1, 3),
            by_example(3, 0.5, &batch(&[(5, 4)]), 3, 1, 3),
            by_example(3, 0.5, &batch(&[(5, 4)]), 2, 0, 3),
        ] {
            assert_ne!(other, alone);
        }
    }
}
