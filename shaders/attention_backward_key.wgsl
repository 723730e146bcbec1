// The second half of attention's backward: the gradients of keys and values. One thread a key and head, queries in order; no barriers.

@group(0) @binding(0) var<storage, read_write> qkv: array<f32>;
@group(0) @binding(1) var<storage, read_write> d_mixed: array<f32>;
@group(0) @binding(2) var<storage, read_write> probabilities: array<f32>;
@group(0) @binding(3) var<storage, read_write> d_scores: array<f32>;
// As qkv; keys and values are written here.
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
    let k = index / heads;
    let h = index % heads;
    let first = k - k % columns;
    let end = first + columns;
    let key = k * 3u * width + width + h * size;
    for (var i = 0u; i < size; i++) {
        var d_key = 0.0;
        var d_value = 0.0;
        for (var t = k; t < end; t++) {
            let at = (t * heads + h) * columns + k - first;
            d_key += d_scores[at] * qkv[t * 3u * width + h * size + i];
            d_value += probabilities[at] * d_mixed[t * width + h * size + i];
        }
        d_qkv[key + i] = d_key;
        d_qkv[key + width + i] = d_value;
    }
}
