// The four bytes of a word as floats, byte 0 first. Shifts and masks only: unpack4xU8 is a language extension that
// baseline WGSL may lack. 6 integer ops and 4 conversions for unsigned, 7 and 4 for signed bytes.

fn bytes_to_vec4(w: u32) -> vec4<f32> {
    return vec4<f32>((vec4<u32>(w) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(0xffu));
}

fn signed_bytes_to_vec4(w: u32) -> vec4<f32> {
    return vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(w) << vec4<u32>(24u, 16u, 8u, 0u)) >> vec4<u32>(24u));
}
