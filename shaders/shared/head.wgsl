struct Op {
    // Positions times heads.
    queries: u32,
    columns: u32,
    heads: u32,
    // Quads of all heads.
    width: u32,
    qkv: u32,
    mixed: u32,
    // One quad a query: the logarithm of the sum of exponentials, then d_mixed . mixed.
    kept: u32,
    d_mixed: u32,
    d_qkv: u32,
    // 1 / sqrt(numbers of a head).
    scale: f32,
}

@group(0) @binding(0) var<uniform> op: Op;

struct Head {
    row: u32,
    column: u32,
    // Where the head begins inside the width.
    inside: u32,
    // Where the head's queries of the row's first column begin.
    qkv: u32,
}

// Columns come first, so that neighbours walk over the same keys.
fn head_of(index: u32) -> Head {
    let head = index / op.columns % op.heads;
    let row = index / (op.columns * op.heads);
    let inside = head * (op.width / op.heads);
    return Head(row, index % op.columns, inside, op.qkv + row * op.columns * 3u * op.width + inside);
}
