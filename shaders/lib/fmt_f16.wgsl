// F16: halves, widened by unpack2x16float (no f16 feature). Layout (src/weights/planes.rs): 4 vec4 a group, two halves
// a word, low half first, rows padded with zeros to whole groups. 16 bits and about 0.6 integer ops a weight.
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
    return vec4<f32>(unpack2x16float(w.x), unpack2x16float(w.y));
}

fn w_values(wg: WGroup, j: u32) -> vec4<f32> {
    return w_codes(wg, j);
}
