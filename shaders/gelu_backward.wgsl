// The gradient of GELU: d_y * ((1 + erf(x / sqrt 2)) / 2 + x * exp(-x^2 / 2) / sqrt(2 pi)), element by element.

#import shared/erf

@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> d_y: array<f32>;
@group(0) @binding(2) var<storage, read_write> d_x: array<f32>;
// Elements.
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
    let v = x[index];
    let slope = 0.5 * (1.0 + erf(v * 0.70710678)) + v * exp(-0.5 * v * v) * 0.39894228;
    d_x[index] = d_y[index] * slope;
}
