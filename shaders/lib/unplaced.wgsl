// The counterpart of lib/placed.wgsl for formats whose codes cannot be read in place.
const W_PLACE: vec4<f32> = vec4<f32>(1.0);
const W_UNPLACE: vec4<f32> = vec4<f32>(1.0);

fn w_placed(wg: WGroup, j: u32) -> vec4<f32> {
    return w_codes(wg, j);
}
