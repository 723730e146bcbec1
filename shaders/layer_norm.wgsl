// y = (x - mean) / sqrt(variance + 1e-5) * gain + bias, row by row. One thread a row; no workgroup memory and no barriers.

#import shared/moments

@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> gain: array<f32>;
@group(0) @binding(2) var<storage, read_write> bias: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;
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
    if index >= sizes[0] {
        return;
    }
    let first = index * width;
    let end = first + width;
    let row = moments(first, end);
    for (var i = first; i < end; i++) {
        y[i] = (x[i] - row.mean) * row.inverse * gain[i - first] + bias[i - first];
    }
}
