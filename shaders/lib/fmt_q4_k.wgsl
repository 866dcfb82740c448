// Q4_K: super-blocks of 256 four-bit codes, w = d * S * code - dmin * M with six-bit S and M a group. Layout
// (src/weights/planes.rs): quants P4, one vec4 a group; aux of a super-block: (d, dmin), three words of S and M.
// 4.5 bits and about 3.7 integer ops a weight.
// Needs w_quants: array<vec4<u32>> and w_aux: array<u32>.

#import bytes
#import placed
#import k_scales

const W_OFF: f32 = 0.0;

struct WGroup {
    q: vec4<u32>,
    dm: u32, // (d, dmin)
    sm: u32, // S, M << 16
}

fn w_group(row: u32, g: u32, groups: u32) -> WGroup {
    let at = row * groups + g;
    let aux = (at >> 3u) << 2u;
    let sm = k_scale_min(w_aux[aux + 1u], w_aux[aux + 2u], w_aux[aux + 3u], g & 7u);
    return WGroup(w_quants[at], w_aux[aux], sm);
}

fn w_scale(wg: WGroup, h: u32) -> vec2<f32> {
    return unpack2x16float(wg.dm) * vec2<f32>(f32(wg.sm & 0xffffu), f32(wg.sm >> 16u));
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
