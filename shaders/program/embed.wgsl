// out[p] = words[token of p] + places[p % columns]. One thread a quad.
#import shared/program

struct Op {
    quads: u32,
    width: u32,
    columns: u32,
    words: u32,
    places: u32,
    out: u32,
}

@group(0) @binding(0) var<uniform> op: Op;

@compute @workgroup_size(64, 1, 1)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let index = id.x;
    if index >= op.quads {
        return;
    }
    let position = index / op.width;
    let quad = index % op.width;
    var value = parameters[op.words + u32(tokens[position]) * op.width + quad];
    if op.places != NONE {
        value += parameters[op.places + position % op.columns * op.width + quad];
    }
    arena[op.out + index] = value;
}
