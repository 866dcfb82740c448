// Q2_K: super-blocks of 256 two-bit codes, w = d * S * code - dmin * M with four-bit S and M per 16. Layout
// (src/weights/planes.rs): quants P2, two groups a vec4; aux of a super-block: four words of (S, M) bytes, (d, dmin).
// 2.625 bits and about 3.4 integer ops a weight.
// Needs w_quants: array<vec4<u32>> and w_aux: array<u32>.

#import bytes
#import placed

const W_OFF: f32 = 0.0;

struct WGroup {
    q: vec2<u32>,
    dm: u32, // (d, dmin)
    sm: u32, // two bytes in the low half: S, M << 4
}

fn w_group(row: u32, g: u32, groups: u32) -> WGroup {
    let at = row * groups + g;
    let v = w_quants[at >> 1u];
    let aux = (at >> 3u) * 5u;
    let sm = w_aux[aux + ((g & 7u) >> 1u)] >> ((g & 1u) << 4u);
    return WGroup(select(v.xy, v.zw, (g & 1u) == 1u), w_aux[aux + 4u], sm);
}

fn w_scale(wg: WGroup, h: u32) -> vec2<f32> {
    let sm = wg.sm >> (h << 3u);
    return unpack2x16float(wg.dm) * vec2<f32>(f32(sm & 15u), f32((sm >> 4u) & 15u));
}

fn w_bytes(wg: WGroup, j: u32) -> u32 {
    return (wg.q[j >> 2u] >> ((j & 3u) << 1u)) & 0x03030303u;
}

fn w_codes(wg: WGroup, j: u32) -> vec4<f32> {
    return bytes_to_vec4(w_bytes(wg, j));
}

fn w_values(wg: WGroup, j: u32) -> vec4<f32> {
    let s = w_scale(wg, j >> 2u);
    return s.x * w_codes(wg, j) - s.y;
}
