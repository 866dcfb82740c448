// Q3_K: super-blocks of 256 three-bit codes, w = d * (S - 32) * (code - 4) with a six-bit S per 16. Layout
// (src/weights/planes.rs): quants P2 (low two bits), two groups a vec4; aux of a row: P1 (third bits) of every group,
// three words of S of every super-block, then the d of two super-blocks a word.
// 3.4375 bits and about 4.6 integer ops a weight.
// Needs w_quants: array<vec4<u32>> and w_aux: array<u32>.

#import bytes
#import placed
#import half_pair

const W_OFF: f32 = 4.0;

struct WGroup {
    q: vec2<u32>,
    high: u32,
    s: u32, // the two S in the bytes of the low half
    d: f32,
}

fn w_group(row: u32, g: u32, groups: u32) -> WGroup {
    let supers = groups >> 3u;
    let aux = row * (groups + supers * 3u + ((supers + 1u) >> 1u));
    let scales = aux + groups + (g >> 3u) * 3u;
    // Four low bits from the first two words, two high bits from the third.
    let t = g & 7u;
    let shift = (t & 1u) << 4u;
    let low = (w_aux[scales + ((t & 3u) >> 1u)] >> (shift + (t & 4u))) & 0x0f0fu;
    let high = (w_aux[scales + 2u] >> (shift + (t & 6u))) & 0x0303u;
    let d = half_of(w_aux[aux + groups + supers * 3u + (g >> 4u)], g >> 3u);
    let v = w_quants[(row * groups + g) >> 1u];
    return WGroup(select(v.xy, v.zw, (g & 1u) == 1u), w_aux[aux + g], low | (high << 4u), d);
}

fn w_scale(wg: WGroup, h: u32) -> vec2<f32> {
    return vec2<f32>(wg.d * (f32((wg.s >> (h << 3u)) & 63u) - 32.0), 0.0);
}

fn w_bytes(wg: WGroup, j: u32) -> u32 {
    let low = (wg.q[j >> 2u] >> ((j & 3u) << 1u)) & 0x03030303u;
    return low | (((wg.high >> j) & 0x01010101u) << 2u);
}

fn w_codes(wg: WGroup, j: u32) -> vec4<f32> {
    return bytes_to_vec4(w_bytes(wg, j));
}

fn w_values(wg: WGroup, j: u32) -> vec4<f32> {
    return w_scale(wg, j >> 2u).x * (w_codes(wg, j) - W_OFF);
}
