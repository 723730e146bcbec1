// Adds the 64 pairs of loss_partials.wgsl up, in order: the loss sum and the count of scored positions.

@group(0) @binding(0) var<storage, read_write> partials: array<f32>;
@group(0) @binding(1) var<storage, read_write> totals: array<f32>;

@compute @workgroup_size(64, 1, 1)
fn main(@builtin(local_invocation_index) which: u32) {
    if which > 1u {
        return;
    }
    var sum = 0.0;
    for (var k = 0u; k < 64u; k++) {
        sum += partials[2u * k + which];
    }
    totals[which] = sum;
}
