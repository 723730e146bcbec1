//! What must come out bit for bit alike, natively and in a browser: `cargo test`, and `wasm-pack test --headless --chrome`.
//!
//! A link names an experiment; whoever opens it, wherever, must be given the same examples.

#![expect(clippy::expect_used, reason = "a broken setup must fail its test at once")]

#[cfg(not(target_arch = "wasm32"))]
use core::prelude::v1::test;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::{wasm_bindgen_test as test, wasm_bindgen_test_configure};

use microbatch_lab::{
    batch::oracle::{MlpShape, mlp_gradient, norm},
    data,
    setup::{Draft, Key, parse::parse},
};

#[cfg(target_arch = "wasm32")]
wasm_bindgen_test_configure!(run_in_browser);

/// FNV-1a over 64-bit words, <http://www.isthe.com/chongo/tech/comp/fnv/>.
fn hash(words: impl IntoIterator<Item = u64>) -> u64 {
    words.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, word| {
        word.to_le_bytes().iter().fold(hash, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    })
}

fn examples_of(draft: &Draft) -> u64 {
    let setup = parse(draft).expect("the setup is valid");
    let corpus = data::build(&setup, None).expect("the setup has data");
    hash(corpus.examples.iter().flat_map(|example| {
        let tokens = example.tokens.iter().map(|&token| u64::from(token));
        tokens
            .chain(example.labels.iter().map(|&label| u64::from(label.cast_unsigned())))
            .collect::<Vec<_>>()
    }))
}

#[test]
fn a_seed_gives_the_same_examples() {
    // Logarithms and exponentials, behind log-normal lengths, are where platforms differ.
    let mut all = Vec::new();
    for task in ["copy", "reverse", "sort", "addition"] {
        for lengths in ["data", "uniform", "log_normal", "two_humped"] {
            all.push(examples_of(
                &Draft::default()
                    .with(Key::Data, task)
                    .with(Key::Lengths, lengths)
                    .with(Key::Seed, "7"),
            ));
        }
    }
    // Another number here means that links give other examples than before; say so in the changelog.
    assert_eq!(format!("{:016x}", hash(all)), "7f4b595f1028d477");
}

#[test]
fn a_gradient_is_the_same_to_twelve_digits() {
    let shape = MlpShape {
        vocab: 5,
        embed: 2,
        hidden: 3,
        batch_norm: false,
    };
    let parameters: Vec<f64> = (0..shape.parameters())
        .map(|i| f64::from(u8::try_from(i % 7).unwrap_or(0)) / 8.0 - 0.375)
        .collect();
    let (losses, gradient) = mlp_gradient(shape, &parameters, &[1, 2, 3, 4], &[2, 3, -100, 1], &[1.0; 4]);
    assert_eq!(losses.count, 3);
    assert_near(losses.sum, 5.365_036_575_308_172);
    assert_near(norm(&gradient), 1.586_390_414_108_783);
}

#[track_caller]
fn assert_near(got: f64, wanted: f64) {
    assert!((got - wanted).abs() < 1e-12, "{got:.17e} instead of {wanted:.17e}");
}
