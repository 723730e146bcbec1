struct Moments {
    mean: f32,
    // 1 / sqrt(variance + 1e-5).
    inverse: f32,
}

// Of one row, which is x[first] up to x[end]; x is the importing file's.
fn moments(first: u32, end: u32) -> Moments {
    let width = f32(end - first);
    var mean = 0.0;
    for (var i = first; i < end; i++) {
        mean += x[i];
    }
    mean /= width;
    var variance = 0.0;
    for (var i = first; i < end; i++) {
        variance += (x[i] - mean) * (x[i] - mean);
    }
    return Moments(mean, 1.0 / sqrt(variance / width + 1e-5));
}
