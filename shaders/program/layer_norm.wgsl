// LayerNorm of each row, eps 1e-5, and each row's mean and 1 / deviation. One thread a row.
#import shared/program
#import shared/filled

struct Op {
    rows: u32,
    // Quads of a row, and numbers.
    quads: u32,
    width: u32,
    x: u32,
    gain: u32,
    bias: u32,
    out: u32,
    moments: u32,
}

@group(0) @binding(0) var<uniform> op: Op;

@compute @workgroup_size(32, 1, 1)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let row = id.x;
    if row >= op.rows {
        return;
    }
    let x = op.x + row * op.quads;
    var sum = vec4<f32>(0.0);
    for (var i = 0u; i < op.quads; i++) {
        sum += arena[x + i];
    }
    let mean = total(sum) / f32(op.width);
    var squares = vec4<f32>(0.0);
    for (var i = 0u; i < op.quads; i++) {
        let centred = select(vec4<f32>(0.0), arena[x + i] - mean, real(i, op.width));
        squares += centred * centred;
    }
    let inverse = 1.0 / sqrt(total(squares) / f32(op.width) + 1e-5);
    arena[op.moments + row] = vec4<f32>(mean, inverse, 0.0, 0.0);
    let out = op.out + row * op.quads;
    for (var i = 0u; i < op.quads; i++) {
        arena[out + i] = (arena[x + i] - mean) * inverse * parameters[op.gain + i] + parameters[op.bias + i];
    }
}
