// What loss.wgsl leaves of each position, summed in their order: [weighted sum, count], and then [plain sum, count] if asked for.
// One thread, which reads eight at a time; rows beyond the last are in the region, and are left out.
#import shared/program

struct Op {
    rows: u32,
    losses: u32,
}

@group(0) @binding(0) var<uniform> op: Op;

@compute @workgroup_size(1, 1, 1)
fn main() {
    #each 8 var sum$ = vec4<f32>(0.0);
    let whole = op.rows / 8u * 8u;
    for (var row = 0u; row < whole; row += 8u) {
        #each 8 sum$ += arena[op.losses + row + $u];
    }
    for (var row = whole; row < op.rows; row++) {
        sum0 += arena[op.losses + row];
    }
    let sum = ((sum0 + sum1) + (sum2 + sum3)) + ((sum4 + sum5) + (sum6 + sum7));
    totals[0] = sum.x;
    totals[1] = sum.y;
    if arrayLength(&totals) >= 4u {
        totals[2] = sum.z;
        totals[3] = sum.y;
    }
}
