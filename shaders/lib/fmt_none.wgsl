// The control of the harness: a product with the launch, the stage of x and the arithmetic of Q4_1, whose weights come
// from their position instead of memory. What a kernel costs beyond this, its bytes cost. 0 bits a weight.

#import bytes
#import placed

const W_OFF: f32 = 0.0;

struct WGroup {
    q: vec4<u32>,
}

fn w_group(row: u32, g: u32, groups: u32) -> WGroup {
    return WGroup(vec4<u32>(row * groups + g) + vec4<u32>(1u, 2u, 3u, 4u));
}

fn w_scale(wg: WGroup, h: u32) -> vec2<f32> {
    return vec2<f32>(f32(wg.q.x & 3u), 0.5);
}

fn w_bytes(wg: WGroup, j: u32) -> u32 {
    return (wg.q[j & 3u] >> (j & 4u)) & 0x0f0f0f0fu;
}

fn w_codes(wg: WGroup, j: u32) -> vec4<f32> {
    return bytes_to_vec4(w_bytes(wg, j));
}

fn w_values(wg: WGroup, j: u32) -> vec4<f32> {
    let s = w_scale(wg, 0u);
    return s.x * w_codes(wg, j) - s.y;
}
