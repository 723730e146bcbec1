// out = x @ matrix, and what an affine layer or its backward does next. One thread eight rows and two quads of columns, held in registers:
// memory is read once for sixty-four products of four. Rows may run over the end of a region, which has room for it.
#import shared/program

struct Op {
    rows: u32,
    // Quads of a row of x and of out.
    inputs: u32,
    outputs: u32,
    x: u32,
    matrix: u32,
    // NONE for none.
    bias: u32,
    out: u32,
    // What follows, and the region that it reads or writes. A GELU goes there, and its slope to out.
    then: u32,
    other: u32,
}

const KEEP = 0u;
const ADD = 1u;
const GELU = 2u;
const TANH = 3u;
const SLOPE = 4u;
const SLOPE_OF_TANH = 5u;

@group(0) @binding(0) var<uniform> op: Op;

struct Gelu {
    // What the exact GELU multiplies its input by, and its slope.
    share: vec4<f32>,
    slope: vec4<f32>,
}

// By the erf of Abramowitz and Stegun 7.1.26, off by at most 1.5e-7, whose exponential is also the normal density's.
fn gelu(h: vec4<f32>) -> Gelu {
    let x = h * 0.70710678;
    let t = 1.0 / (1.0 + 0.3275911 * abs(x));
    let tail = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
    let density = exp(-x * x);
    let share = 0.5 + 0.5 * sign(x) * (1.0 - tail * density);
    return Gelu(share, share + h * 0.39894228 * density);
}

@compute @workgroup_size(8, 4, 1)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let row = id.y * 8u;
    let column = id.x * 2u;
    if row >= op.rows || column >= op.outputs {
        return;
    }
    // An odd last quad is computed twice.
    let second = min(1u, op.outputs - 1u - column);
    #each 8 var a$ = vec4<f32>(0.0); var b$ = vec4<f32>(0.0); var x$ = op.x + (row + $u) * op.inputs;
    var w = op.matrix + column;
    for (var i = 0u; i < op.inputs; i++) {
        #each 8 let y$ = arena[x$ + i];
        {
            let m = parameters[w]; let n = parameters[w + second]; w += op.outputs;
            #each 8 a$ += y$.x * m; b$ += y$.x * n;
        }
        {
            let m = parameters[w]; let n = parameters[w + second]; w += op.outputs;
            #each 8 a$ += y$.y * m; b$ += y$.y * n;
        }
        {
            let m = parameters[w]; let n = parameters[w + second]; w += op.outputs;
            #each 8 a$ += y$.z * m; b$ += y$.z * n;
        }
        {
            let m = parameters[w]; let n = parameters[w + second]; w += op.outputs;
            #each 8 a$ += y$.w * m; b$ += y$.w * n;
        }
    }
    let first = row * op.outputs + column;
    // In an array, so that what follows is compiled once and not for each register.
    var sums: array<vec4<f32>, 16>;
    #each 8 sums[2u * $u] = a$; sums[2u * $u + 1u] = b$;
    for (var k = 0u; k <= second; k++) {
        var bias = vec4<f32>(0.0);
        if op.bias != NONE {
            bias = parameters[op.bias + column + k];
        }
        for (var i = 0u; i < 8u; i++) {
            let at = first + i * op.outputs + k;
            var y = sums[2u * i + k] + bias;
            switch op.then {
                case ADD: {
                    y += arena[op.other + at];
                }
                case GELU: {
                    let part = gelu(y);
                    arena[op.other + at] = y * part.share;
                    y = part.slope;
                }
                case TANH: {
                    y = tanh(clamp(y, vec4<f32>(-15.0), vec4<f32>(15.0)));
                }
                case SLOPE: {
                    y *= arena[op.other + at];
                }
                case SLOPE_OF_TANH: {
                    let h = arena[op.other + at];
                    y *= 1.0 - h * h;
                }
                default: {}
            }
            arena[op.out + at] = y;
        }
    }
}
