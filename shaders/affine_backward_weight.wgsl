// d_weight(i, o) = sum over n of x[n][i] * d_y[n][o], and d_bias[o] = sum over n of d_y[n][o], as if the bias were the weight of one
// more input that is always 1. One thread a weight, rows in order, so the same input always gives the same bits; no barriers.

@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> d_y: array<f32>;
@group(0) @binding(2) var<storage, read_write> d_weight: array<f32>;
@group(0) @binding(3) var<storage, read_write> d_bias: array<f32>;
// As in affine.wgsl.
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
    if index >= (inputs + 1u) * outputs {
        return;
    }
    let i = index / outputs;
    let o = index % outputs;
    var sum = 0.0;
    if i == inputs {
        for (var n = 0u; n < sizes[0]; n++) {
            sum += d_y[n * outputs + o];
        }
        d_bias[o] = sum;
    } else {
        for (var n = 0u; n < sizes[0]; n++) {
            sum += x[n * inputs + i] * d_y[n * outputs + o];
        }
        d_weight[i * sizes[3] + o * sizes[4]] = sum;
    }
}
