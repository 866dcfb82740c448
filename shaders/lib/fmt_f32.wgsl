// F32: 32-bit floats as stored. Layout (src/weights/planes.rs): 8 vec4 a group, rows padded with zeros to whole groups.
// 32 bits and about 0.1 integer ops a weight. Needs w_quants: array<vec4<u32>>.

#import unplaced

const W_OFF: f32 = 0.0;

// Only the place: words are read when they are used, so that nothing is indexed by a variable in registers.
struct WGroup {
    at: u32,
}

fn w_group(row: u32, g: u32, groups: u32) -> WGroup {
    return WGroup((row * groups + g) * 8u);
}

fn w_scale(wg: WGroup, h: u32) -> vec2<f32> {
    return vec2<f32>(1.0, 0.0);
}

fn w_codes(wg: WGroup, j: u32) -> vec4<f32> {
    return bitcast<vec4<f32>>(w_quants[wg.at + j]);
}

fn w_values(wg: WGroup, j: u32) -> vec4<f32> {
    return w_codes(wg, j);
}
