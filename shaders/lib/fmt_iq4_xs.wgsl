// IQ4_XS: super-blocks of 256 codes of sixteen uneven levels, w = d * (S - 32) * level with a six-bit S a group.
// Layout (src/weights/planes.rs): quants P4, one vec4 a group; aux of a super-block: (d, upper bits of the S), lower
// bits of the S. 4.25 bits and about 3.6 integer ops a weight, and 5 float ops for the level.
// Here w_codes gives the level and w_bytes the level as a signed byte.
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
    let at = row * groups + g;
    let super_aux = (at >> 3u) << 1u;
    let t = g & 7u;
    let w = w_aux[super_aux];
    let low = (w_aux[super_aux + 1u] >> (t << 2u)) & 15u;
    let s = low | (((w >> (16u + (t << 1u))) & 3u) << 4u);
    return WGroup(w_quants[at], half_of(w, 0u) * (f32(s) - 32.0));
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
