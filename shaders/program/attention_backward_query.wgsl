// The gradient of one query a thread, and d_mixed . mixed, which the keys' gradients need.
#import shared/program
#import shared/head

@compute @workgroup_size(32, 1, 1)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= op.queries {
        return;
    }
    let at = head_of(id.x);
    let query = at.column * 3u * op.width;
    let mixed = (at.row * op.columns + at.column) * op.width + at.inside;
    #each size let q$ = arena[at.qkv + query + $u] * op.scale; let d$ = arena[op.d_mixed + mixed + $u]; var sum$ = vec4<f32>(0.0);
    var along = 0.0;
    #each size along += dot(d$, arena[op.mixed + mixed + $u]);
    let lse = arena[op.kept + id.x].x;
    arena[op.kept + id.x] = vec4<f32>(lse, along, 0.0, 0.0);
    var key = at.qkv + op.width;
    for (var k = 0u; k <= at.column; k++) {
        #each size let k$ = arena[key + $u];
        var score = 0.0;
        var slope = -along;
        #each size score += dot(q$, k$); slope += dot(d$, arena[key + op.width + $u]);
        let d_score = exp(score - lse) * slope;
        #each size sum$ += d_score * k$;
        key += 3u * op.width;
    }
    let out = op.d_qkv + at.qkv - op.qkv + query;
    #each size arena[out + $u] = sum$ * op.scale;
}
