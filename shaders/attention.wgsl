// Causal softmax attention, head by head: mixed = softmax(q k^T / sqrt(size)) v over the positions up to the query's own.
// One thread a query and head; no workgroup memory and no barriers.

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
    for (var i = 0u; i < size; i++) {
        var value = 0.0;
        for (var k = first; k <= t; k++) {
            value += probabilities[scores + k - first] * qkv[k * 3u * width + 2u * width + h * size + i];
        }
        mixed[t * width + h * size + i] = value / sum;
    }
}
