// Causal softmax attention of one query and head a thread, in one walk over its keys, with the logarithm of the sum of exponentials.
#import shared/program
#import shared/head

@compute @workgroup_size(32, 1, 1)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= op.queries {
        return;
    }
    let at = head_of(id.x);
    #each size let q$ = arena[at.qkv + at.column * 3u * op.width + $u] * op.scale; var sum$ = vec4<f32>(0.0);
    var largest = -3.0e38;
    var sum = 0.0;
    var key = at.qkv + op.width;
    for (var k = 0u; k <= at.column; k++) {
        var score = 0.0;
        #each size score += dot(q$, arena[key + $u]);
        let larger = max(largest, score);
        let shrink = exp(largest - larger);
        let e = exp(score - larger);
        largest = larger;
        sum = sum * shrink + e;
        #each size sum$ = sum$ * shrink + e * arena[key + op.width + $u];
        key += 3u * op.width;
    }
    let out = op.mixed + at.row * op.columns * op.width + at.column * op.width + at.inside;
    #each size arena[out + $u] = sum$ / sum;
    arena[op.kept + id.x] = vec4<f32>(largest + log(sum), 0.0, 0.0, 0.0);
}
