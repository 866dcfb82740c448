// Q4_0: blocks of 32 four-bit codes, w = d * (code - 8). Layout (src/weights/planes.rs): quants P4, one vec4 a group;
// aux: the d of two groups a word. 4.5 bits and about 3.3 integer ops a weight.
// Needs w_quants: array<vec4<u32>> and w_aux: array<u32>.

#import bytes
#import placed
#import half_pair

const W_OFF: f32 = 8.0;

struct WGroup {
    q: vec4<u32>,
    d: f32,
}

fn w_group(row: u32, g: u32, groups: u32) -> WGroup {
    let d = w_aux[row * ((groups + 1u) >> 1u) + (g >> 1u)];
    return WGroup(w_quants[row * groups + g], half_of(d, g));
}

fn w_scale(wg: WGroup, h: u32) -> vec2<f32> {
    return vec2<f32>(wg.d, 0.0);
}

fn w_bytes(wg: WGroup, j: u32) -> u32 {
    return (wg.q[j & 3u] >> (j & 4u)) & 0x0f0f0f0fu;
}

fn w_codes(wg: WGroup, j: u32) -> vec4<f32> {
    return bytes_to_vec4(w_bytes(wg, j));
}

fn w_values(wg: WGroup, j: u32) -> vec4<f32> {
    return wg.d * (w_codes(wg, j) - W_OFF);
}
