// The gradient of the weighted loss sum with respect to the logits:
// d_logits[t][v] = upstream * weight[t] * (softmax(logits[t])[v] - (1 if v is the label else 0)).
// One thread a position, which walks its own row: no workgroup memory and no barriers. Positions of weight 0 get exact zeros.

@group(0) @binding(0) var<storage, read_write> logits: array<f32>;
@group(0) @binding(1) var<storage, read_write> labels: array<i32>;
@group(0) @binding(2) var<storage, read_write> weights: array<f32>;
// Upstream gradients of the sum and of the count; the count has no slope.
@group(0) @binding(3) var<storage, read_write> upstream: array<f32>;
@group(0) @binding(4) var<storage, read_write> d_logits: array<f32>;
// Positions, vocabulary.
@group(0) @binding(5) var<storage, read_write> sizes: array<u32>;

@compute @workgroup_size(64, 1, 1)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let position = id.x;
    if position >= sizes[0] {
        return;
    }
    let first = position * sizes[1];
    let end = first + sizes[1];
    let weight = upstream[0] * weights[position];
    if weight == 0.0 {
        for (var i = first; i < end; i++) {
            d_logits[i] = 0.0;
        }
        return;
    }
    var largest = logits[first];
    for (var i = first + 1u; i < end; i++) {
        largest = max(largest, logits[i]);
    }
    var sum = 0.0;
    for (var i = first; i < end; i++) {
        sum += exp(logits[i] - largest);
    }
    let scale = weight / sum;
    for (var i = first; i < end; i++) {
        d_logits[i] = scale * exp(logits[i] - largest);
    }
    d_logits[first + u32(labels[position])] -= weight;
}
