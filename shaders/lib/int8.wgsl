// Four activations as 8-bit integers of a group that shares the factor 127 / largest.
fn int8_quad(v: vec4<f32>, inverse: f32) -> vec4<i32> {
    return vec4<i32>(round(v * inverse));
}

fn largest(v: vec4<f32>) -> f32 {
    let a = abs(v);
    return max(max(a.x, a.y), max(a.z, a.w));
}

#if PAIRS
// Columns 0 and 2, and 1 and 3, of a quad, crossed: the upper half of the product with codes (c0 | c2 << 16) is
// c0 q0 + c2 q2, the lower half is waste that is small enough to round away.
fn int8_words(q: vec4<i32>) -> vec2<u32> {
    return vec2<u32>(bitcast<u32>(q.z + (q.x << 16u)), bitcast<u32>(q.w + (q.y << 16u)));
}
#else
fn int8_words(q: vec4<i32>) -> u32 {
    let b = bitcast<vec4<u32>>(q) & vec4<u32>(0xffu);
    return (b.x | (b.y << 8u)) | ((b.z << 16u) | (b.w << 24u));
}
#endif
