// The gradients of one key and its value a thread, from all queries that saw it; runs after attention_backward_query.wgsl.
#import shared/program
#import shared/head

@compute @workgroup_size(32, 1, 1)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= op.queries {
        return;
    }
    let at = head_of(id.x);
    let key = at.qkv + at.column * 3u * op.width + op.width;
    #each size let k$ = arena[key + $u] * op.scale; let v$ = arena[key + op.width + $u];
    #each size var dk$ = vec4<f32>(0.0); var dv$ = vec4<f32>(0.0);
    let kept = op.kept + id.x - at.column;
    var query = at.qkv + at.column * 3u * op.width;
    var mixed = op.d_mixed + (at.row * op.columns + at.column) * op.width + at.inside;
    for (var t = at.column; t < op.columns; t++) {
        let seen = arena[kept + t];
        var score = -seen.x;
        var slope = -seen.y;
        #each size let q$ = arena[query + $u]; let d$ = arena[mixed + $u]; score += dot(q$, k$); slope += dot(d$, v$);
        let p = exp(score);
        let d_score = p * slope * op.scale;
        #each size dk$ += d_score * q$; dv$ += p * d$;
        query += 3u * op.width;
        mixed += op.width;
    }
    let out = op.d_qkv + key - op.qkv;
    #each size arena[out + $u] = dk$; arena[out + op.width + $u] = dv$;
}
