// The cross-entropy of each position: loss[t] = logsumexp(logits[t]) - logits[t][label[t]], and 0 where nothing is scored,
// which is where the weight is 0.
// One thread a position, which walks its own row: no workgroup memory and no barriers.

@group(0) @binding(0) var<storage, read_write> logits: array<f32>;
@group(0) @binding(1) var<storage, read_write> labels: array<i32>;
@group(0) @binding(2) var<storage, read_write> weights: array<f32>;
@group(0) @binding(3) var<storage, read_write> losses: array<f32>;
// Positions, vocabulary.
@group(0) @binding(4) var<storage, read_write> sizes: array<u32>;

@compute @workgroup_size(64, 1, 1)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let position = id.x;
    if position >= sizes[0] {
        return;
    }
    if weights[position] == 0.0 {
        losses[position] = 0.0;
        return;
    }
    let first = position * sizes[1];
    let end = first + sizes[1];
    var largest = logits[first];
    for (var i = first + 1u; i < end; i++) {
        largest = max(largest, logits[i]);
    }
    var sum = 0.0;
    for (var i = first; i < end; i++) {
        sum += exp(logits[i] - largest);
    }
    losses[position] = largest + log(sum) - logits[first + u32(labels[position])];
}
