//! The arithmetic of small networks on one core, in portable SIMD: slices in, slices out. No tensors, no graph, and nothing is allocated but
//! the packed copies in a [`Scratch`], which are used again.
//!
//! Everything is row-major and f32; sums run in a fixed order, so the same input gives the same bits. A crate of its own because
//! optimisation levels go by crate, and these loops need another one than the code around them.

pub mod attention;
pub mod compare;
pub mod embedding;
mod four;
pub mod gemm;
pub mod layer_norm;
pub mod linear;
pub mod loss;
mod math;
pub mod optimizer;

pub use gemm::Scratch;
