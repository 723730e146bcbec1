// y[n][o] = bias[o] + sum over i of x[n][i] * weight(i, o). One thread an output; no workgroup memory and no barriers.

@group(0) @binding(0) var<storage, read_write> x: array<f32>;
// weight(i, o) lies at i * sizes[3] + o * sizes[4], so that both layouts of a Linear layer are read in place.
@group(0) @binding(1) var<storage, read_write> weight: array<f32>;
@group(0) @binding(2) var<storage, read_write> bias: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;
// Rows n, inputs i, outputs o, and the two strides of the weight.
@group(0) @binding(4) var<storage, read_write> sizes: array<u32>;

@compute @workgroup_size(64, 1, 1)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = (group.y * groups.x + group.x) * 64u + lane;
    let inputs = sizes[1];
    let outputs = sizes[2];
    if index >= sizes[0] * outputs {
        return;
    }
    let n = index / outputs;
    let o = index % outputs;
    var sum = bias[o];
    for (var i = 0u; i < inputs; i++) {
        sum += x[n * inputs + i] * weight[i * sizes[3] + o * sizes[4]];
    }
    y[index] = sum;
}
