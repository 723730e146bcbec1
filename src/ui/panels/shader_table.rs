//! Every file of `shaders/`: what it does, and what its numbers are held against.
//!
//! `tests/architecture/shown.rs` compares the names with the files, and looks the functions up.

use crate::ui::{parts::field::Words, text::td_string};

/// What the numbers of a shader are compared with, as a path in this crate.
#[derive(Clone, Copy, Debug)]
pub enum Twin {
    /// This function computes the same.
    Value(&'static str),
    /// The gradient of this function is the same.
    Gradient(&'static str),
    /// Nothing by itself: it computes inside the files that import it.
    Users,
}

/// One file.
#[derive(Clone, Copy, Debug)]
pub struct Shader {
    /// Its path in `shaders/`.
    pub file: &'static str,
    /// What it does.
    pub about: Words,
    /// What it is held against.
    pub twin: Twin,
}

/// A network's list of operations, in the order of forward and backward.
pub const PROGRAM: &[Shader] = &[
    Shader {
        file: "program/pack.wgsl",
        about: |l| td_string!(l, shader.list_pack),
        twin: Twin::Value("engine::gradient::Forward::by_graph"),
    },
    Shader {
        file: "program/embed.wgsl",
        about: |l| td_string!(l, shader.list_embed),
        twin: Twin::Value("engine::model::transformer::logits"),
    },
    Shader {
        file: "program/layer_norm.wgsl",
        about: |l| td_string!(l, shader.list_layer_norm),
        twin: Twin::Value("engine::model::layers::layer_norm"),
    },
    Shader {
        file: "program/affine.wgsl",
        about: |l| td_string!(l, shader.list_affine),
        twin: Twin::Value("engine::model::layers::affine"),
    },
    Shader {
        file: "program/attention.wgsl",
        about: |l| td_string!(l, shader.list_attention),
        twin: Twin::Value("engine::model::layers::attention"),
    },
    Shader {
        file: "program/loss.wgsl",
        about: |l| td_string!(l, shader.list_loss),
        twin: Twin::Value("engine::loss::loss"),
    },
    Shader {
        file: "program/totals.wgsl",
        about: |l| td_string!(l, shader.list_totals),
        twin: Twin::Value("engine::loss::loss"),
    },
    Shader {
        file: "program/layer_norm_input.wgsl",
        about: |l| td_string!(l, shader.list_layer_norm_input),
        twin: Twin::Gradient("engine::model::layers::layer_norm"),
    },
    Shader {
        file: "program/attention_backward_query.wgsl",
        about: |l| td_string!(l, shader.list_attention_query),
        twin: Twin::Gradient("engine::model::layers::attention"),
    },
    Shader {
        file: "program/attention_backward_key.wgsl",
        about: |l| td_string!(l, shader.list_attention_key),
        twin: Twin::Gradient("engine::model::layers::attention"),
    },
    Shader {
        file: "program/weights.wgsl",
        about: |l| td_string!(l, shader.list_weights),
        twin: Twin::Gradient("engine::gradient::Forward::by_graph"),
    },
];

/// Layers, loss and optimizer one by one.
pub const LAYERS: &[Shader] = &[
    Shader {
        file: "affine.wgsl",
        about: |l| td_string!(l, shader.affine),
        twin: Twin::Value("engine::model::layers::twin::affine"),
    },
    Shader {
        file: "affine_backward_input.wgsl",
        about: |l| td_string!(l, shader.affine_input),
        twin: Twin::Gradient("engine::model::layers::twin::affine"),
    },
    Shader {
        file: "affine_backward_weight.wgsl",
        about: |l| td_string!(l, shader.affine_weight),
        twin: Twin::Gradient("engine::model::layers::twin::affine"),
    },
    Shader {
        file: "layer_norm.wgsl",
        about: |l| td_string!(l, shader.layer_norm),
        twin: Twin::Value("engine::model::layers::twin::layer_norm"),
    },
    Shader {
        file: "layer_norm_backward.wgsl",
        about: |l| td_string!(l, shader.layer_norm_input),
        twin: Twin::Gradient("engine::model::layers::twin::layer_norm"),
    },
    Shader {
        file: "layer_norm_backward_gain.wgsl",
        about: |l| td_string!(l, shader.layer_norm_gain),
        twin: Twin::Gradient("engine::model::layers::twin::layer_norm"),
    },
    Shader {
        file: "gelu.wgsl",
        about: |l| td_string!(l, shader.gelu),
        twin: Twin::Value("engine::model::layers::twin::gelu"),
    },
    Shader {
        file: "gelu_backward.wgsl",
        about: |l| td_string!(l, shader.gelu_backward),
        twin: Twin::Gradient("engine::model::layers::twin::gelu"),
    },
    Shader {
        file: "attention.wgsl",
        about: |l| td_string!(l, shader.attention),
        twin: Twin::Value("engine::model::layers::twin::attention"),
    },
    Shader {
        file: "attention_backward_query.wgsl",
        about: |l| td_string!(l, shader.attention_query),
        twin: Twin::Gradient("engine::model::layers::twin::attention"),
    },
    Shader {
        file: "attention_backward_key.wgsl",
        about: |l| td_string!(l, shader.attention_key),
        twin: Twin::Gradient("engine::model::layers::twin::attention"),
    },
    Shader {
        file: "half.wgsl",
        about: |l| td_string!(l, shader.half),
        twin: Twin::Value("batch::oracle::half::to_half"),
    },
    Shader {
        file: "token_loss.wgsl",
        about: |l| td_string!(l, shader.token_loss),
        twin: Twin::Value("batch::oracle::cross_entropy::token_cross_entropy"),
    },
    Shader {
        file: "loss_partials.wgsl",
        about: |l| td_string!(l, shader.loss_partials),
        twin: Twin::Value("batch::oracle::cross_entropy::token_cross_entropy"),
    },
    Shader {
        file: "loss_total.wgsl",
        about: |l| td_string!(l, shader.loss_total),
        twin: Twin::Value("batch::oracle::cross_entropy::token_cross_entropy"),
    },
    Shader {
        file: "token_loss_backward.wgsl",
        about: |l| td_string!(l, shader.token_loss_backward),
        twin: Twin::Gradient("batch::oracle::cross_entropy::token_cross_entropy"),
    },
    Shader {
        file: "adamw_moment.wgsl",
        about: |l| td_string!(l, shader.adamw_moment),
        twin: Twin::Value("batch::oracle::optimizer::AdamW::apply"),
    },
    Shader {
        file: "adamw_step.wgsl",
        about: |l| td_string!(l, shader.adamw_step),
        twin: Twin::Value("batch::oracle::optimizer::AdamW::apply"),
    },
];

/// What others import.
pub const SHARED: &[Shader] = &[
    Shader {
        file: "shared/erf.wgsl",
        about: |l| td_string!(l, shader.shared_erf),
        twin: Twin::Users,
    },
    Shader {
        file: "shared/filled.wgsl",
        about: |l| td_string!(l, shader.shared_filled),
        twin: Twin::Users,
    },
    Shader {
        file: "shared/head.wgsl",
        about: |l| td_string!(l, shader.shared_head),
        twin: Twin::Users,
    },
    Shader {
        file: "shared/jobs.wgsl",
        about: |l| td_string!(l, shader.shared_jobs),
        twin: Twin::Users,
    },
    Shader {
        file: "shared/moments.wgsl",
        about: |l| td_string!(l, shader.shared_moments),
        twin: Twin::Users,
    },
    Shader {
        file: "shared/program.wgsl",
        about: |l| td_string!(l, shader.shared_program),
        twin: Twin::Users,
    },
    Shader {
        file: "shared/softmax.wgsl",
        about: |l| td_string!(l, shader.shared_softmax),
        twin: Twin::Users,
    },
];
