// IQ4_NL: blocks of 32 codes of sixteen uneven levels, w = d * level. Layout (src/weights/planes.rs): quants P4, one
// vec4 a group; aux: the d of two groups a word. 4.5 bits and about 3.3 integer ops a weight, and 5 float ops for
// the level. Here w_codes gives the level and w_bytes the level as a signed byte.
// Needs w_quants: array<vec4<u32>> and w_aux: array<u32>.

#import bytes
#import unplaced
#import half_pair
#import iq4_levels

const W_OFF: f32 = 0.0;

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

fn w_codes(wg: WGroup, j: u32) -> vec4<f32> {
    return iq4_levels(bytes_to_vec4((wg.q[j & 3u] >> (j & 4u)) & 0x0f0f0f0fu));
}

fn w_bytes(wg: WGroup, j: u32) -> u32 {
    return iq4_pack(w_codes(wg, j));
}

fn w_values(wg: WGroup, j: u32) -> vec4<f32> {
    return wg.d * w_codes(wg, j);
}
