// Q5_1: blocks of 32 five-bit codes, w = d * code + M. Layout (src/weights/planes.rs): quants P4 (low four bits), one
// vec4 a group; aux of a row: P1 (fifth bits) of every group, then (d, M) of every group.
// 6 bits and about 4.3 integer ops a weight.
// Needs w_quants: array<vec4<u32>> and w_aux: array<u32>.

#import bytes
#import placed

const W_OFF: f32 = 0.0;

struct WGroup {
    q: vec4<u32>,
    high: u32,
    dm: u32,
}

fn w_group(row: u32, g: u32, groups: u32) -> WGroup {
    let aux = row * groups * 2u + g;
    return WGroup(w_quants[row * groups + g], w_aux[aux], w_aux[aux + groups]);
}

// The file's minimum is added, so m is its negative.
fn w_scale(wg: WGroup, h: u32) -> vec2<f32> {
    return unpack2x16float(wg.dm) * vec2<f32>(1.0, -1.0);
}

fn w_bytes(wg: WGroup, j: u32) -> u32 {
    let low = (wg.q[j & 3u] >> (j & 4u)) & 0x0f0f0f0fu;
    return low | (((wg.high >> j) & 0x01010101u) << 4u);
}

fn w_codes(wg: WGroup, j: u32) -> vec4<f32> {
    return bytes_to_vec4(w_bytes(wg, j));
}

fn w_values(wg: WGroup, j: u32) -> vec4<f32> {
    let s = w_scale(wg, 0u);
    return s.x * w_codes(wg, j) - s.y;
}
