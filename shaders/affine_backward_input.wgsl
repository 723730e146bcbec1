// d_x[n][i] = sum over o of d_y[n][o] * weight(i, o). One thread an input; no workgroup memory and no barriers.

@group(0) @binding(0) var<storage, read_write> weight: array<f32>;
@group(0) @binding(1) var<storage, read_write> d_y: array<f32>;
@group(0) @binding(2) var<storage, read_write> d_x: array<f32>;
// As in affine.wgsl.
@group(0) @binding(3) var<storage, read_write> sizes: array<u32>;

@compute @workgroup_size(64, 1, 1)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = (group.y * groups.x + group.x) * 64u + lane;
    let inputs = sizes[1];
    let outputs = sizes[2];
    if index >= sizes[0] * inputs {
        return;
    }
    let n = index / inputs;
    let i = index % inputs;
    var sum = 0.0;
    for (var o = 0u; o < outputs; o++) {
        sum += d_y[n * outputs + o] * weight[i * sizes[3] + o * sizes[4]];
    }
    d_x[index] = sum;
}
