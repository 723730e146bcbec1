// One query of one head, and where things of it lie.
struct Query {
    // Its position, and the first position of its row.
    t: u32,
    first: u32,
    // Of all heads, and of one.
    width: u32,
    size: u32,
    // Where its head begins inside a width.
    head: u32,
    // Where its keys' entries begin in probabilities.
    scores: u32,
}

// Query and head number `index`, of rows of `columns` positions.
fn query_of(index: u32, columns: u32, heads: u32, size: u32) -> Query {
    let t = index / heads;
    return Query(t, t - t % columns, heads * size, size, index % heads * size, index * columns);
}

// Leaves exp(score - largest score) of each key up to the query's own position in probabilities, and gives their sum. Both qkv and
// probabilities are the importing file's.
fn exponentials(q: Query) -> f32 {
    let query = q.t * 3u * q.width + q.head;
    let scale = 1.0 / sqrt(f32(q.size));
    var largest = -3.0e38;
    for (var k = q.first; k <= q.t; k++) {
        let key = k * 3u * q.width + q.width + q.head;
        var score = 0.0;
        for (var i = 0u; i < q.size; i++) {
            score += qkv[query + i] * qkv[key + i];
        }
        score *= scale;
        probabilities[q.scores + k - q.first] = score;
        largest = max(largest, score);
    }
    var sum = 0.0;
    for (var k = q.first; k <= q.t; k++) {
        let e = exp(probabilities[q.scores + k - q.first] - largest);
        probabilities[q.scores + k - q.first] = e;
        sum += e;
    }
    return sum;
}
