// moment = beta x moment + (1 - beta) x gradient, or x gradient^2. One thread a number.

@group(0) @binding(0) var<storage, read_write> moment: array<f32>;
@group(0) @binding(1) var<storage, read_write> gradient: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
// Numbers, 1 for squares; then beta and 1 - beta as bits.
@group(0) @binding(3) var<storage, read_write> sizes: array<u32>;

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
    var value = gradient[index];
    if sizes[1] == 1u {
        value *= value;
    }
    out[index] = moment[index] * bitcast<f32>(sizes[2]) + value * bitcast<f32>(sizes[3]);
}
