// Causal softmax attention, head by head: mixed = softmax(q k^T / sqrt(size)) v over the positions up to the query's own.
// One thread a query and head; no workgroup memory and no barriers.

#import shared/softmax

// rows * columns x 3 * width: queries, keys, values.
@group(0) @binding(0) var<storage, read_write> qkv: array<f32>;
// Query and head, then key.
@group(0) @binding(1) var<storage, read_write> probabilities: array<f32>;
// rows * columns x width.
@group(0) @binding(2) var<storage, read_write> mixed: array<f32>;
// Rows, columns, heads, size of a head.
@group(0) @binding(3) var<storage, read_write> sizes: array<u32>;

@compute @workgroup_size(64, 1, 1)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = (group.y * groups.x + group.x) * 64u + lane;
    let columns = sizes[1];
    let heads = sizes[2];
    let size = sizes[3];
    if index >= sizes[0] * columns * heads {
        return;
    }
    let q = query_of(index, columns, heads, size);
    let sum = exponentials(q);
    for (var i = 0u; i < size; i++) {
        var value = 0.0;
        for (var k = q.first; k <= q.t; k++) {
            value += probabilities[q.scores + k - q.first] * qkv[k * 3u * q.width + 2u * q.width + q.head + i];
        }
        mixed[q.t * q.width + q.head + i] = value / sum;
    }
}
