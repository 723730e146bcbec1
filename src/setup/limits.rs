//! What one tab can hold, in one place.

/// Largest m, A or D.
pub const MAX_COUNT: u32 = 1024;
/// Largest m x A x D.
pub const MAX_EFFECTIVE_BATCH: u64 = 4096;
/// Most examples of a data set.
pub const MAX_EXAMPLES: u32 = 20_000;
/// Longest example of the token MLP, in positions.
pub const MAX_LENGTH: u32 = 4096;
/// Largest context of the transformer.
pub const MAX_CONTEXT: u32 = 512;
/// Most positions of one padded microbatch.
pub const MAX_POSITIONS: u64 = 65_536;
/// Widest embedding, hidden layer or residual stream.
pub const MAX_WIDTH: u32 = 512;
/// Most transformer blocks.
pub const MAX_LAYERS: u32 = 8;
/// Most lanes at once.
pub const MAX_LANES: usize = 4;
/// Most entries of a typed or loaded list of lengths.
pub const MAX_LENGTHS: usize = 20_000;
/// Largest budget in any unit.
pub const MAX_BUDGET: u64 = 100_000_000;
/// Largest own file, in bytes.
pub const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;
/// Most tokens of a whole data set.
pub const MAX_TOKENS: u64 = 8_000_000;
/// Most different characters of a data set.
pub const MAX_VOCABULARY: usize = 1024;
/// Longest link that is read, in bytes.
pub const MAX_LINK_BYTES: usize = 256 * 1024;
/// Highest learning rate.
pub const MAX_RATE: f64 = 100.0;
/// Lowest learning rate.
pub const MIN_RATE: f64 = 1e-9;
/// Highest momentum or decay of a moment; at 1 the past would never fade.
pub const MAX_DECAY: f64 = 0.999_999;
/// Widest spread of log-normal lengths.
pub const MAX_SIGMA: f64 = 3.0;
/// Largest norm to clip to.
pub const MAX_CLIP_NORM: f64 = 1e6;
/// Largest first loss scale; torch's own scales stay far below.
pub const MAX_SCALE: f64 = 1e30;
/// Smallest first loss scale.
pub const MIN_SCALE: f64 = 1e-6;
/// Most infinities to inject.
pub const MAX_INJECTIONS: usize = 64;
/// Highest share that dropout sets to 0.
pub const MAX_DROPOUT: f64 = 0.95;
/// Loosest tolerance.
pub const MAX_TOLERANCE: f64 = 1.0;
/// Tightest tolerance.
pub const MIN_TOLERANCE: f64 = 1e-12;
/// Least memory that a run may be held to, in MiB.
pub const MIN_MEMORY_MIB: u32 = 1;
/// Most memory that a run may be held to, in MiB: what 32-bit WebAssembly can address.
pub const MAX_MEMORY_MIB: u32 = 4096;
