//! Plain f64 twins of what the engine computes: readable loops, no tensor library.
//!
//! Goldens hold these at 1e-12; these hold every device before it is used.

pub mod accumulate;
mod attention;
pub mod batch_norm;
pub mod compare;
pub mod cross_entropy;
pub mod half;
mod layers;
pub mod mlp;
pub mod numerics;
pub mod optimizer;
pub mod recipe;
pub mod transformer;

pub use accumulate::{Accumulation, Grads};
pub use batch_norm::{BatchNorm, Momentum};
pub use compare::{cosine, norm, relative_l2};
pub use cross_entropy::{TokenLosses, token_cross_entropy};
pub use mlp::{MlpShape, Scored, mlp_gradient, mlp_pass};
pub use numerics::Numerics;
pub use optimizer::{AdamW, Optimizer, Sgd};
pub use recipe::{Contribution, combine, row_weights, token_weights};
pub use transformer::{TransformerShape, transformer_gradient, transformer_pass};
