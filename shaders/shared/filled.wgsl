// Which numbers of quad `i` belong to a row of `width` numbers, and are not what fills it up.
fn real(i: u32, width: u32) -> vec4<bool> {
    return vec4<u32>(0u, 1u, 2u, 3u) + i * 4u < vec4<u32>(width);
}

fn total(quad: vec4<f32>) -> f32 {
    return quad.x + quad.y + quad.z + quad.w;
}
