// Cross-entropy of each position: (weight x loss, 1, loss, 0), and zeros where nothing is scored, which is where the weight is 0. In place of
// the logits it leaves their gradient of the weighted sum. One thread a position.
#import shared/program
#import shared/filled

struct Op {
    rows: u32,
    quads: u32,
    classes: u32,
    logits: u32,
    losses: u32,
}

@group(0) @binding(0) var<uniform> op: Op;

@compute @workgroup_size(32, 1, 1)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let row = id.x;
    if row >= op.rows {
        return;
    }
    let first = op.logits + row * op.quads;
    let weight = weights[row];
    if weight == 0.0 {
        for (var i = 0u; i < op.quads; i++) {
            arena[first + i] = vec4<f32>(0.0);
        }
        arena[op.losses + row] = vec4<f32>(0.0);
        return;
    }
    let label = u32(labels[row]);
    let labelled = arena[first + label / 4u][label % 4u];
    var largest4 = vec4<f32>(-3.0e38);
    for (var i = 0u; i < op.quads; i++) {
        largest4 = max(largest4, select(vec4<f32>(-3.0e38), arena[first + i], real(i, op.classes)));
    }
    let largest = max(max(largest4.x, largest4.y), max(largest4.z, largest4.w));
    var sum4 = vec4<f32>(0.0);
    for (var i = 0u; i < op.quads; i++) {
        let e = select(vec4<f32>(0.0), exp(arena[first + i] - largest), real(i, op.classes));
        arena[first + i] = e;
        sum4 += e;
    }
    let sum = total(sum4);
    let loss = log(sum) + (largest - labelled);
    arena[op.losses + row] = vec4<f32>(weight * loss, 1.0, loss, 0.0);
    for (var i = 0u; i < op.quads; i++) {
        let hit = vec4<u32>(0u, 1u, 2u, 3u) + i * 4u == vec4<u32>(label);
        arena[first + i] = arena[first + i] * (weight / sum) - select(vec4<f32>(0.0), vec4<f32>(weight), hit);
    }
}
