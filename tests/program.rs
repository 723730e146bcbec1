//! A network's list of operations: worked off on the CPU device, and what it says of memory.
#![cfg(all(not(target_arch = "wasm32"), feature = "engine"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a broken premise must fail its test at once"
)]

#[path = "support/bench.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod bench;
#[path = "support/program_twins.rs"]
mod program_twins;
#[path = "support/reference.rs"]
#[allow(dead_code, reason = "other tests use it")]
mod reference;
#[path = "support/short_run.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod short_run;

use microbatch_lab::{
    batch::oracle::{MlpShape, TransformerShape},
    engine::{
        Device,
        model::Network,
        program::{Kept, Op, Program, Style, WeightGradient},
    },
};

#[test]
fn as_burns_operations_have_it() {
    pollster::block_on(program_twins::compare(&Device::flex(), 2e-6));
}

const NETWORKS: [Network; 2] = [
    Network::TokenMlp(MlpShape {
        vocab: 11,
        embed: 3,
        hidden: 5,
        batch_norm: false,
    }),
    Network::Transformer(TransformerShape {
        vocab: 11,
        width: 6,
        layers: 3,
        heads: 2,
        context: 9,
    }),
];

const STYLES: [Style; 2] = [
    Style {
        kept: Kept::Probabilities,
        weights_at_end: false,
        weighs_rows: true,
        uploads_together: false,
    },
    Style {
        kept: Kept::LogSumExp,
        weights_at_end: true,
        weighs_rows: false,
        uploads_together: true,
    },
];

fn gradients(program: &Program) -> impl Iterator<Item = &WeightGradient> {
    program.backward.iter().flat_map(|op| match op {
        Op::Weights(gradients) => &gradients[..],
        _ => &[],
    })
}

/// Where a gradient is written.
fn ranges(gradient: &WeightGradient) -> Vec<(usize, usize)> {
    match *gradient {
        WeightGradient::Affine { matrix, bias, .. } => {
            let weight = (matrix.offset, matrix.inputs * matrix.outputs);
            std::iter::once(weight)
                .chain(bias.map(|bias| (bias, matrix.outputs)))
                .collect()
        }
        WeightGradient::LayerNorm { gain, bias, width, .. } => vec![(gain, width), (bias, width)],
        WeightGradient::Words {
            words, count, width, ..
        } => vec![(words, count * width)],
        WeightGradient::Places {
            places, count, width, ..
        } => vec![(places, count * width)],
    }
}

#[test]
fn every_parameter_has_one_gradient() {
    for (network, style) in NETWORKS.iter().flat_map(|n| STYLES.map(|s| (n, s))) {
        let program = Program::new(network, 2, 7, style).unwrap();
        let mut written: Vec<_> = gradients(&program).flat_map(ranges).collect();
        written.sort_unstable();
        let end = written
            .iter()
            .try_fold(0, |end, &(from, length)| (from == end).then_some(end + length));
        assert_eq!(end, Some(network.parameters()), "{network:?}: {written:?}");
    }
}

#[test]
fn gradients_at_the_end_are_one_operation() {
    for network in &NETWORKS {
        let [soon, late] = STYLES.map(|style| Program::new(network, 2, 7, style).unwrap());
        let lists = |program: &Program| {
            program
                .backward
                .iter()
                .filter(|op| matches!(op, Op::Weights(_)))
                .count()
        };
        assert_eq!(lists(&late), 1, "{network:?}");
        assert!(lists(&soon) > 1, "{network:?}");
        assert_eq!(gradients(&soon).count(), gradients(&late).count(), "{network:?}");
    }
}

#[test]
fn layers_share_the_memory_of_their_backward() {
    let of = |layers| {
        let shape = TransformerShape {
            vocab: 11,
            width: 6,
            layers,
            heads: 2,
            context: 9,
        };
        let program = Program::new(&Network::Transformer(shape), 2, 7, STYLES[0]).unwrap();
        program.regions.iter().sum::<usize>()
    };
    let forward_of_a_layer = 14 * (16 * 6 + 4 + 2 * 7);
    assert_eq!(
        of(4) - of(3),
        forward_of_a_layer,
        "a layer more needs no more than its forward keeps"
    );
}

#[test]
fn what_has_no_list() {
    let normed = Network::TokenMlp(MlpShape {
        vocab: 11,
        embed: 3,
        hidden: 5,
        batch_norm: true,
    });
    assert_eq!(Program::new(&normed, 2, 7, STYLES[0]), None);
}
