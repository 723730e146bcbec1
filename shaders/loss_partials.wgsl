// 64 partial sums of the weighted loss, and of how many positions are scored (have a weight above 0).
// Thread k takes positions k, k + 64, k + 128, ..., in this order, so the same input always gives the same bits.
// No workgroup memory and no barriers.

@group(0) @binding(0) var<storage, read_write> losses: array<f32>;
@group(0) @binding(1) var<storage, read_write> weights: array<f32>;
// Pairs: sum, count.
@group(0) @binding(2) var<storage, read_write> partials: array<f32>;
// Positions.
@group(0) @binding(3) var<storage, read_write> sizes: array<u32>;

@compute @workgroup_size(64, 1, 1)
fn main(@builtin(local_invocation_index) lane: u32) {
    var sum = 0.0;
    var count = 0.0;
    for (var t = lane; t < sizes[0]; t += 64u) {
        sum += weights[t] * losses[t];
        count += select(0.0, 1.0, weights[t] > 0.0);
    }
    partials[2u * lane] = sum;
    partials[2u * lane + 1u] = count;
}
