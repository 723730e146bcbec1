//! The shaders of a list, one pipeline each.

use crate::engine::kernels::import::{repeated, resolved};

/// What a launch runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kernel {
    Pack,
    Embed,
    LayerNorm,
    Affine,
    /// With the quads of one head.
    Attention(usize),
    Loss,
    Totals,
    LayerNormInput,
    /// With the quads of one head.
    AttentionBackwardQuery(usize),
    /// With the quads of one head.
    AttentionBackwardKey(usize),
    Weights,
}

macro_rules! file {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/shaders/program/", $name, ".wgsl")),
        )
    };
}

impl Kernel {
    /// Its name, and its text as a device takes it.
    pub(super) fn source(self) -> (&'static str, String) {
        let (name, text) = match self {
            Self::Pack => file!("pack"),
            Self::Embed => file!("embed"),
            Self::LayerNorm => file!("layer_norm"),
            Self::Affine => file!("affine"),
            Self::Attention(_) => file!("attention"),
            Self::Loss => file!("loss"),
            Self::Totals => file!("totals"),
            Self::LayerNormInput => file!("layer_norm_input"),
            Self::AttentionBackwardQuery(_) => file!("attention_backward_query"),
            Self::AttentionBackwardKey(_) => file!("attention_backward_key"),
            Self::Weights => file!("weights"),
        };
        let quads = match self {
            Self::Attention(quads) | Self::AttentionBackwardQuery(quads) | Self::AttentionBackwardKey(quads) => quads,
            _ => 0,
        };
        (name, repeated(&resolved(text), quads))
    }

    /// Threads of a workgroup, as the file says.
    pub(super) fn threads(self) -> usize {
        match self {
            Self::Pack | Self::Embed => 64,
            Self::Totals => 1,
            _ => 32,
        }
    }
}
