// Q8_0: blocks of 32 signed bytes, w = d * code. Layout (src/weights/planes.rs): quants P8, two vec4 a group; aux: the
// d of two groups a word. 8.5 bits and about 3 integer ops a weight.
// Needs w_quants: array<vec4<u32>> and w_aux: array<u32>.

#import bytes
#import unplaced
#import half_pair

const W_OFF: f32 = 0.0;

struct WGroup {
    q0: vec4<u32>,
    q1: vec4<u32>,
    d: f32,
}

fn w_group(row: u32, g: u32, groups: u32) -> WGroup {
    let at = (row * groups + g) * 2u;
    let d = w_aux[row * ((groups + 1u) >> 1u) + (g >> 1u)];
    return WGroup(w_quants[at], w_quants[at + 1u], half_of(d, g));
}

fn w_scale(wg: WGroup, h: u32) -> vec2<f32> {
    return vec2<f32>(wg.d, 0.0);
}

fn w_bytes(wg: WGroup, j: u32) -> u32 {
    return select(wg.q0[j & 3u], wg.q1[j & 3u], j > 3u);
}

fn w_codes(wg: WGroup, j: u32) -> vec4<f32> {
    return signed_bytes_to_vec4(w_bytes(wg, j));
}

fn w_values(wg: WGroup, j: u32) -> vec4<f32> {
    return wg.d * w_codes(wg, j);
}
