// Q5_0: blocks of 32 five-bit codes, w = d * (code - 16). Layout (src/weights/planes.rs): quants P4 (low four bits),
// one vec4 a group; aux of a row: P1 (fifth bits) of every group, then the d of two groups a word.
// 5.5 bits and about 4.3 integer ops a weight.
// Needs w_quants: array<vec4<u32>> and w_aux: array<u32>.

#import bytes
#import placed
#import half_pair

const W_OFF: f32 = 16.0;

struct WGroup {
    q: vec4<u32>,
    high: u32,
    d: f32,
}

fn w_group(row: u32, g: u32, groups: u32) -> WGroup {
    let aux = row * (groups + ((groups + 1u) >> 1u));
    let d = half_of(w_aux[aux + groups + (g >> 1u)], g);
    return WGroup(w_quants[row * groups + g], w_aux[aux + g], d);
}

fn w_scale(wg: WGroup, h: u32) -> vec2<f32> {
    return vec2<f32>(wg.d, 0.0);
}

fn w_bytes(wg: WGroup, j: u32) -> u32 {
    let low = (wg.q[j & 3u] >> (j & 4u)) & 0x0f0f0f0fu;
    return low | (((wg.high >> j) & 0x01010101u) << 4u);
}

fn w_codes(wg: WGroup, j: u32) -> vec4<f32> {
    return bytes_to_vec4(w_bytes(wg, j));
}

fn w_values(wg: WGroup, j: u32) -> vec4<f32> {
    return wg.d * (w_codes(wg, j) - W_OFF);
}
