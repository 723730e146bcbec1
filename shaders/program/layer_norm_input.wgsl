// The gradient of LayerNorm's input, plus that of the residual stream. One thread a row.
#import shared/program
#import shared/filled

struct Op {
    rows: u32,
    quads: u32,
    width: u32,
    d_y: u32,
    x: u32,
    moments: u32,
    gain: u32,
    // NONE for none.
    add: u32,
    out: u32,
}

@group(0) @binding(0) var<uniform> op: Op;

@compute @workgroup_size(32, 1, 1)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let row = id.x;
    if row >= op.rows {
        return;
    }
    let first = row * op.quads;
    let moments = arena[op.moments + row];
    var sum4 = vec4<f32>(0.0);
    var along4 = vec4<f32>(0.0);
    for (var i = 0u; i < op.quads; i++) {
        // What fills a quad up has a gain of 0.
        let d = arena[op.d_y + first + i] * parameters[op.gain + i];
        sum4 += d;
        along4 += d * (arena[op.x + first + i] - moments.x);
    }
    let mean = total(sum4) / f32(op.width);
    let along = total(along4) * moments.y / f32(op.width);
    for (var i = 0u; i < op.quads; i++) {
        let d = arena[op.d_y + first + i] * parameters[op.gain + i];
        let normed = (arena[op.x + first + i] - moments.x) * moments.y;
        var value = moments.y * (d - mean - normed * along);
        if op.add != NONE {
            value += arena[op.add + first + i];
        }
        arena[op.out + first + i] = select(vec4<f32>(0.0), value, real(i, op.width));
    }
}
