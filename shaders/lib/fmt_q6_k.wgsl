// Q6_K: super-blocks of 256 six-bit codes, w = d * S * (code - 32) with a signed byte S per 16. Layout
// (src/weights/planes.rs): quants P4 (low four bits), one vec4 a group; aux of a row: P2 (upper bits) of every group,
// four words of S of every super-block, then the d of two super-blocks a word.
// 6.5625 bits and about 4.5 integer ops a weight.
// Needs w_quants: array<vec4<u32>> and w_aux: array<u32>.

#import bytes
#import placed
#import half_pair

const W_OFF: f32 = 32.0;

struct WGroup {
    q: vec4<u32>,
    high: vec2<u32>,
    s: u32, // the two S in the low half
    d: f32,
}

fn w_group(row: u32, g: u32, groups: u32) -> WGroup {
    let supers = groups >> 3u;
    let aux = row * (groups * 2u + supers * 4u + ((supers + 1u) >> 1u));
    let scales = aux + groups * 2u;
    let high = aux + g * 2u;
    let s = w_aux[scales + (g >> 1u)] >> ((g & 1u) << 4u);
    let d = half_of(w_aux[scales + supers * 4u + (g >> 4u)], g >> 3u);
    return WGroup(w_quants[row * groups + g], vec2<u32>(w_aux[high], w_aux[high + 1u]), s, d);
}

fn w_scale(wg: WGroup, h: u32) -> vec2<f32> {
    return vec2<f32>(wg.d * f32(bitcast<i32>(wg.s << (24u - (h << 3u))) >> 24u), 0.0);
}

fn w_bytes(wg: WGroup, j: u32) -> u32 {
    let low = (wg.q[j & 3u] >> (j & 4u)) & 0x0f0f0f0fu;
    return low | (((wg.high[j >> 2u] >> ((j & 3u) << 1u)) & 0x03030303u) << 4u);
}

fn w_codes(wg: WGroup, j: u32) -> vec4<f32> {
    return bytes_to_vec4(w_bytes(wg, j));
}

fn w_values(wg: WGroup, j: u32) -> vec4<f32> {
    return w_scale(wg, j >> 2u).x * (w_codes(wg, j) - W_OFF);
}
