// The gradient of LayerNorm's input, and its normalised values for layer_norm_backward_gain.wgsl. One thread a row; no barriers.
// With s = d_y * gain: d_x = (s - mean(s) - normed * mean(s * normed)) / sqrt(variance + 1e-5).

#import shared/moments

@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> gain: array<f32>;
@group(0) @binding(2) var<storage, read_write> d_y: array<f32>;
@group(0) @binding(3) var<storage, read_write> d_x: array<f32>;
@group(0) @binding(4) var<storage, read_write> normed: array<f32>;
// Rows, width.
@group(0) @binding(5) var<storage, read_write> sizes: array<u32>;

@compute @workgroup_size(64, 1, 1)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = (group.y * groups.x + group.x) * 64u + lane;
    let width = sizes[1];
    if index >= sizes[0] {
        return;
    }
    let first = index * width;
    let end = first + width;
    let row = moments(first, end);
    var mean_s = 0.0;
    var along = 0.0;
    for (var i = first; i < end; i++) {
        let value = (x[i] - row.mean) * row.inverse;
        normed[i] = value;
        let s = d_y[i] * gain[i - first];
        mean_s += s;
        along += s * value;
    }
    mean_s /= f32(width);
    along /= f32(width);
    for (var i = first; i < end; i++) {
        d_x[i] = row.inverse * (d_y[i] * gain[i - first] - mean_s - normed[i] * along);
    }
}
