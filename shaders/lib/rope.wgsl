// Rotary embedding of one head held as vec4s. ROT4 = rotated dims / 4 (dims beyond it pass through).
// INTERLEAVED pairs (2i, 2i+1), as GGUF's llama files are permuted for; otherwise (i, i + R/2).
// `rope` holds (cos, sin) pairs, row-major [position, R/2], already scaled by the attention factor.
fn rope_even(a: vec4<f32>, at: u32) -> vec4<f32> {
    let c0 = rope[at];
    let c1 = rope[at + 1u];
    return vec4<f32>(a.x * c0.x - a.y * c0.y, a.x * c0.y + a.y * c0.x, a.z * c1.x - a.w * c1.y, a.z * c1.y + a.w * c1.x);
}

struct RopePair {
    lo: vec4<f32>,
    hi: vec4<f32>,
}

fn rope_halves(lo: vec4<f32>, hi: vec4<f32>, at: u32) -> RopePair {
    let c0 = rope[at];
    let c1 = rope[at + 1u];
    let c2 = rope[at + 2u];
    let c3 = rope[at + 3u];
    let c = vec4<f32>(c0.x, c1.x, c2.x, c3.x);
    let s = vec4<f32>(c0.y, c1.y, c2.y, c3.y);
    return RopePair(lo * c - hi * s, lo * s + hi * c);
}
