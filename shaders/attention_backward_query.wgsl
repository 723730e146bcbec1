// The first half of attention's backward: probabilities and the gradients of the scores, for attention_backward_key.wgsl, and the
// gradient of the queries. One thread a query and head; no barriers.

#import shared/softmax

@group(0) @binding(0) var<storage, read_write> qkv: array<f32>;
// rows * columns x width.
@group(0) @binding(1) var<storage, read_write> d_mixed: array<f32>;
// Query and head, then key.
@group(0) @binding(2) var<storage, read_write> probabilities: array<f32>;
// Query and head, then key.
@group(0) @binding(3) var<storage, read_write> d_scores: array<f32>;
// As qkv; the queries are written here.
@group(0) @binding(4) var<storage, read_write> d_qkv: array<f32>;
// Rows, columns, heads, size of a head.
@group(0) @binding(5) var<storage, read_write> sizes: array<u32>;

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
    let scale = 1.0 / sqrt(f32(size));
    // The mean slope under the probabilities is what softmax takes away.
    var mean = 0.0;
    for (var k = q.first; k <= q.t; k++) {
        let p = probabilities[q.scores + k - q.first] / sum;
        probabilities[q.scores + k - q.first] = p;
        let value = k * 3u * q.width + 2u * q.width + q.head;
        var d = 0.0;
        for (var i = 0u; i < size; i++) {
            d += d_mixed[q.t * q.width + q.head + i] * qkv[value + i];
        }
        d_scores[q.scores + k - q.first] = d;
        mean += p * d;
    }
    for (var k = q.first; k <= q.t; k++) {
        let at = q.scores + k - q.first;
        d_scores[at] = scale * probabilities[at] * (d_scores[at] - mean);
    }
    for (var i = 0u; i < size; i++) {
        var d = 0.0;
        for (var k = q.first; k <= q.t; k++) {
            d += d_scores[q.scores + k - q.first] * qkv[k * 3u * q.width + q.width + q.head + i];
        }
        d_qkv[q.t * 3u * q.width + q.head + i] = d;
    }
}
