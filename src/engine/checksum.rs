//! A fingerprint of parameters: if one bit of them moves, it changes.

/// FNV-1a, 64 bits, over the little-endian bytes of `values`.
///
/// ```
/// # use microbatch_lab::engine::checksum::fnv1a;
/// assert_eq!(fnv1a(&[]), 0xcbf2_9ce4_8422_2325);
/// assert_ne!(fnv1a(&[0.0]), fnv1a(&[-0.0]), "equal numbers, other bits");
/// ```
pub fn fnv1a(values: &[f32]) -> u64 {
    values
        .iter()
        .flat_map(|value| value.to_bits().to_le_bytes())
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
}
