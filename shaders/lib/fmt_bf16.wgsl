// BF16: the upper halves of 32-bit floats. Layout (src/weights/planes.rs): 4 vec4 a group, two halves a word, low half
// first, rows padded with zeros to whole groups. 16 bits and about 1.1 integer ops a weight.
// Needs w_quants: array<vec4<u32>>.

#import unplaced

const W_OFF: f32 = 0.0;

// Only the place: words are read when they are used, so that nothing is indexed by a variable in registers.
struct WGroup {
    at: u32,
}

fn w_group(row: u32, g: u32, groups: u32) -> WGroup {
    return WGroup((row * groups + g) * 4u);
}

fn w_scale(wg: WGroup, h: u32) -> vec2<f32> {
    return vec2<f32>(1.0, 0.0);
}

fn w_codes(wg: WGroup, j: u32) -> vec4<f32> {
    let v = w_quants[wg.at + (j >> 1u)];
    let w = select(v.xy, v.zw, (j & 1u) == 1u);
    return bitcast<vec4<f32>>(vec4<u32>(w.x << 16u, w.x & 0xffff0000u, w.y << 16u, w.y & 0xffff0000u));
}

fn w_values(wg: WGroup, j: u32) -> vec4<f32> {
    return w_codes(wg, j);
}
