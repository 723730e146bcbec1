// parameters x keep - step x first / (sqrt(second) / correction + epsilon). One thread a number.

@group(0) @binding(0) var<storage, read_write> parameters: array<f32>;
@group(0) @binding(1) var<storage, read_write> first: array<f32>;
@group(0) @binding(2) var<storage, read_write> second: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
// Numbers; then keep, step, correction and epsilon as bits.
@group(0) @binding(4) var<storage, read_write> sizes: array<u32>;

@compute @workgroup_size(64, 1, 1)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = (group.y * groups.x + group.x) * 64u + lane;
    if index >= sizes[0] {
        return;
    }
    let root = sqrt(second[index]) / bitcast<f32>(sizes[3]) + bitcast<f32>(sizes[4]);
    out[index] = parameters[index] * bitcast<f32>(sizes[1]) - first[index] / root * bitcast<f32>(sizes[2]);
}
