// The first half of attention's backward: probabilities and the gradients of the scores, for attention_backward_key.wgsl, and the
// gradient of the queries. One thread a query and head; no barriers.

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
    let width = heads * size;
    let t = index / heads;
    let h = index % heads;
    let first = t - t % columns;
    let query = t * 3u * width + h * size;
    let scores = index * columns;
    let scale = 1.0 / sqrt(f32(size));
    var largest = -3.0e38;
    for (var k = first; k <= t; k++) {
        let key = k * 3u * width + width + h * size;
        var score = 0.0;
        for (var i = 0u; i < size; i++) {
            score += qkv[query + i] * qkv[key + i];
        }
        score *= scale;
        probabilities[scores + k - first] = score;
        largest = max(largest, score);
    }
    var sum = 0.0;
    for (var k = first; k <= t; k++) {
        let e = exp(probabilities[scores + k - first] - largest);
        probabilities[scores + k - first] = e;
        sum += e;
    }
    // The mean slope under the probabilities is what softmax takes away.
    var mean = 0.0;
    for (var k = first; k <= t; k++) {
        let p = probabilities[scores + k - first] / sum;
        probabilities[scores + k - first] = p;
        let value = k * 3u * width + 2u * width + h * size;
        var d = 0.0;
        for (var i = 0u; i < size; i++) {
            d += d_mixed[t * width + h * size + i] * qkv[value + i];
        }
        d_scores[scores + k - first] = d;
        mean += p * d;
    }
    for (var k = first; k <= t; k++) {
        let at = scores + k - first;
        d_scores[at] = scale * probabilities[at] * (d_scores[at] - mean);
    }
    for (var i = 0u; i < size; i++) {
        var d = 0.0;
        for (var k = first; k <= t; k++) {
            d += d_scores[scores + k - first] * qkv[k * 3u * width + width + h * size + i];
        }
        d_qkv[query + i] = d;
    }
}
