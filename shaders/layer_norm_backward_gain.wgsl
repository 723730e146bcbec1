// d_gain = sum over rows of d_y * normed, d_bias = sum over rows of d_y. One thread a column, rows in order; no barriers.

@group(0) @binding(0) var<storage, read_write> d_y: array<f32>;
@group(0) @binding(1) var<storage, read_write> normed: array<f32>;
@group(0) @binding(2) var<storage, read_write> d_gain: array<f32>;
@group(0) @binding(3) var<storage, read_write> d_bias: array<f32>;
// Rows, width.
@group(0) @binding(4) var<storage, read_write> sizes: array<u32>;

@compute @workgroup_size(64, 1, 1)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = (group.y * groups.x + group.x) * 64u + lane;
    let width = sizes[1];
    if index >= width {
        return;
    }
    var gain = 0.0;
    var bias = 0.0;
    for (var n = 0u; n < sizes[0]; n++) {
        let d = d_y[n * width + index];
        gain += d * normed[n * width + index];
        bias += d;
    }
    d_gain[index] = gain;
    d_bias[index] = bias;
}
