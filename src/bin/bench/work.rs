//! The work that is compared: networks, first parameters and batches, number by number as `docs/speed.md` defines them.
//!
//! Plain code, so that tests train the same without a browser.

use microbatch_lab::{
    batch::{Example, ExampleId, IGNORE_INDEX, oracle::TransformerShape},
    protocol::Fixture,
    setup::{Draft, Key, Setup, parse::parse},
};

/// What stands after an example's end. A token like any other and not padding, so that no position may be left out: whoever is compared
/// computes all m x ctx positions. No label is scored there, and attention is causal, so no number depends on which token it is.
const FILLER: u32 = 1;

/// Tokens, padding included.
const VOCABULARY: u32 = 64;

/// Standard deviation of the first weights and embeddings.
const DEVIATION: f64 = 0.02;

/// One network with its split.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    /// What it is called.
    pub(crate) name: &'static str,
    pub(crate) shape: TransformerShape,
    m: u32,
    accumulation: u32,
    replicas: u32,
}

/// All of them; the first is a smoke test and too small to be timed.
pub(crate) const WORKS: [Work; 3] = [
    Work::new("W0", [32, 1, 2, 16], [2, 2, 1]),
    Work::new("W1", [64, 2, 4, 64], [4, 4, 2]),
    Work::new("W2", [128, 4, 4, 128], [8, 4, 1]),
];

impl Work {
    const fn new(
        name: &'static str,
        [width, layers, heads, context]: [usize; 4],
        [m, accumulation, replicas]: [u32; 3],
    ) -> Self {
        let shape = TransformerShape {
            vocab: VOCABULARY as usize,
            width,
            layers,
            heads,
            context,
        };
        Self {
            name,
            shape,
            m,
            accumulation,
            replicas,
        }
    }

    /// The one called `name`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        WORKS.into_iter().find(|work| work.name == name)
    }

    /// It in `lanes`, made of [`Self::start`] and [`Self::batches`].
    pub(crate) fn fixture(self, start: Vec<f32>, mut examples: Vec<Example>, lanes: &str) -> Option<Fixture> {
        for (id, example) in (0..).zip(&mut examples) {
            example.id = ExampleId(id);
        }
        Some(Fixture {
            setup: self.setup(lanes)?,
            vocabulary: VOCABULARY,
            start,
            examples,
        })
    }

    /// The first parameters, tensor by tensor, so that a page can let its event loop turn in between. Matrices and embeddings are drawn; of
    /// the vectors, the gains are 1, all others 0.
    pub(crate) fn start(self) -> impl Iterator<Item = Vec<f32>> {
        let mut random = Mulberry(1234);
        let blocks = 12 * self.shape.layers;
        // Two embeddings come before the blocks; the first of a block's or the end's two vectors of a norm is its gain.
        let is_gain = move |i: usize| {
            let inner = i.checked_sub(2);
            inner.is_some_and(|i| i == blocks || (i < blocks && [0, 6].contains(&(i % 12))))
        };
        let tensors = self.shape.tensors().into_iter().enumerate();
        tensors.map(move |(i, (rows, columns))| {
            let count = rows * columns;
            match rows {
                1 if is_gain(i) => vec![1.0; count],
                1 => vec![0.0; count],
                _ => (0..count).map(|_| nearest(DEVIATION * random.normal())).collect(),
            }
        })
    }

    fn setup(self, lanes: &str) -> Option<Setup> {
        let shape = self.shape;
        let numbers = [
            (Key::Microbatch, u64::from(self.m)),
            (Key::Accumulation, u64::from(self.accumulation)),
            (Key::Replicas, u64::from(self.replicas)),
            (Key::Width, shape.width as u64),
            (Key::Layers, shape.layers as u64),
            (Key::Heads, shape.heads as u64),
            (Key::Context, shape.context as u64),
            (Key::Budget, 1_000_000),
            (Key::MemoryLimit, 4096),
        ];
        let texts = [
            (Key::Model, "transformer"),
            (Key::Sharding, "microbatches"),
            (Key::Shuffle, "no"),
            (Key::Optimizer, "adamw"),
            (Key::Beta1, "0.9"),
            (Key::Beta2, "0.999"),
            (Key::WeightDecay, "0.01"),
            (Key::Rate, "0.001"),
            (Key::Schedule, "constant"),
            (Key::Lanes, lanes),
        ];
        let draft = numbers.iter().fold(Draft::default(), |draft, &(key, number)| {
            draft.with(key, number.to_string())
        });
        let draft = texts.iter().fold(draft, |draft, &(key, text)| draft.with(key, text));
        parse(&draft).ok()
    }

    /// The examples of so many updates, update by update.
    pub(crate) fn batches(self, updates: u32) -> impl Iterator<Item = Vec<Example>> {
        (0..updates).map(move |update| self.batch(update))
    }

    /// The examples of one update: T/4 to T tokens of a chain with some noise, each scored on the next.
    fn batch(self, update: u32) -> Vec<Example> {
        let mut random = Mulberry(7777 + update * 101);
        let examples = self.m * self.accumulation * self.replicas;
        (0..examples).map(|_| self.example(&mut random)).collect()
    }

    fn example(self, random: &mut Mulberry) -> Example {
        let (context, last) = (self.shape.context, VOCABULARY - 1);
        let quarter = context as f64 / 4.0;
        let length = floor(quarter + random.next() * (3.0 * quarter + 1.0)) as usize;
        let mut token = 1 + floor(random.next() * f64::from(last));
        let (mut tokens, mut labels) = (vec![FILLER; context], vec![IGNORE_INDEX; context]);
        for (slot, label) in tokens.iter_mut().zip(&mut labels).take(length) {
            *slot = token;
            let noise = if random.next() < 0.2 {
                floor(random.next() * f64::from(last))
            } else {
                0
            };
            token = 1 + (token * 5 + 7 + noise) % last;
            *label = i32::try_from(token).unwrap_or(IGNORE_INDEX);
        }
        Example {
            id: ExampleId(0),
            tokens,
            labels,
        }
    }
}

/// The generator called mulberry32.
struct Mulberry(u32);

impl Mulberry {
    /// Evenly from 0 to 1, 1 excluded.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x6D2B_79F5);
        let a = self.0;
        let mut t = (a ^ (a >> 15)).wrapping_mul(1 | a);
        t = t.wrapping_add((t ^ (t >> 7)).wrapping_mul(0x3D | t)) ^ t;
        f64::from(t ^ (t >> 14)) / 4_294_967_296.0
    }

    /// Box and Muller's.
    fn normal(&mut self) -> f64 {
        let (u, v) = (self.next().max(1e-9), self.next());
        (-2.0 * libm::log(u)).sqrt() * libm::cos(2.0 * std::f64::consts::PI * v)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a small count, never negative"
)]
fn floor(x: f64) -> u32 {
    x as u32
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "rounding to the device's precision is what is meant"
)]
fn nearest(x: f64) -> f32 {
    x as f32
}
